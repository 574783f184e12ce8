// Command keda-cron says when KEDA's own cron scaler is active, minute by minute, over a time that it is told.
//
// Package scalers is KEDA's cron_scaler.go, copied beside this module when it is built, with a clock that can be set.
// Reads {"trigger": {...}, "from": UNIX, "until": UNIX} from standard input, one a line; for each it writes
// {"keda": VERSION, "active": [[FROM, UNTIL], ...]}: half-open, in Unix seconds.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"warmline.local/tools/keda/edited"
)

const minute = 60

type question struct {
	Trigger map[string]string `json:"trigger"`
	From    int64             `json:"from"`
	Until   int64             `json:"until"`
}

type answer struct {
	Keda   string     `json:"keda"`
	Active [][2]int64 `json:"active"`
}

func main() {
	log.SetLogger(logr.Discard())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			end(err)
		}
		active, err := activeIn(asked)
		if err != nil {
			end(err)
		}
		if err := json.NewEncoder(os.Stdout).Encode(answer{version(), active}); err != nil {
			end(err)
		}
	}
	if err := lines.Err(); err != nil {
		end(err)
	}
}

func activeIn(asked question) ([][2]int64, error) {
	scaler, err := scalers.NewCronScaler(&scalersconfig.ScalerConfig{TriggerMetadata: asked.Trigger})
	if err != nil {
		return nil, err
	}
	active := [][2]int64{}
	for at := asked.From; at < asked.Until; at += minute {
		scalers.Now = func() time.Time { return time.Unix(at, 0) }
		_, isActive, err := scaler.GetMetricsAndActivity(context.Background(), "cron")
		if err != nil {
			return nil, err
		}
		if last := len(active) - 1; isActive && last >= 0 && active[last][1] == at {
			active[last][1] = at + minute
		} else if isActive {
			active = append(active, [2]int64{at, at + minute})
		}
	}
	return active, nil
}

// version is that of the module that was compiled, by the compiler's own account.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/kedacore/keda/v2" {
				return module.Version
			}
		}
	}
	return "unknown"
}

func end(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
