"""The pre-scaler inside the cluster: a CronJob, its account, and the files it reads. Manifests first."""
