// Command pulumi-resource-kubernetes is the Kubernetes provider of Pulumi as its module ships it.
//
// The module's own main embeds two generated files that are not part of the module. Whoever builds this writes
// them next to it first: the module's schema.json with its "version" set, and its terraform-mapping.json.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

//go:embed schema-embed.json
var schema []byte

//go:embed terraform-mapping-embed.json
var mapping []byte

func main() {
	provider.Serve("kubernetes", version.Version, schema, mapping)
}
