package hclconfig

// backendBlock says where the state is kept. A backend's attributes are settings of kubewright
// itself: none of them affects anything that runs.
var backendBlock = &Block{
	Name: "backend", Label: "TYPE",
	Doc: "Where the state is kept; without it in `kubewright.state.json` beside the configuration. It is read before anything else, so that its values are literals: no variables, no functions. " +
		"A setting that is not here is taken from `-backend-config=NAME=VALUE`, which comes first, or from the environment as `KUBEWRIGHT_TYPE_NAME`, which comes last, as in `KUBEWRIGHT_HTTP_PASSWORD`: there is the place for secrets. See [docs/reference/backends.md](backends.md).",
	Variants: []*Block{httpBackend, kubernetesBackend, pgBackend, s3Backend},
}

var httpBackend = &Block{
	Name: "http", Doc: "A server that speaks the protocol which GitLab and others have for Terraform's states.",
	Attributes: []Attribute{
		{Name: "address", Type: typeString, Cost: CostNone, Doc: "URL of the state. It must be given. A write or a lock that is redirected from it is an error; a read is followed to the same server alone, or to its https."},
		{Name: "update_method", Type: typeString, Default: "POST", Cost: CostNone, Doc: "Method that writes the state."},
		{Name: "lock_address", Type: typeString, Cost: CostNone, Doc: "URL of the lock. Without it nothing is locked at the server, and every command that writes warns of it. A server that answers and does not lock is refused."},
		{Name: "lock_method", Type: typeString, Default: "LOCK", Cost: CostNone, Doc: "Method that locks; GitLab wants `POST`."},
		{Name: "unlock_address", Type: typeString, Derived: "`lock_address`", Cost: CostNone, Doc: "URL to unlock at."},
		{Name: "unlock_method", Type: typeString, Default: "UNLOCK", Cost: CostNone, Doc: "Method that unlocks; GitLab wants `DELETE`."},
		{Name: "username", Type: typeString, Cost: CostNone, Doc: "User for HTTP basic authentication."},
		{Name: "password", Type: typeString, Sensitive: true, Cost: CostNone, Doc: "Password, or a token, for HTTP basic authentication. One from the environment, the command line or a file is sent only to servers that are named there as well, as with `KUBEWRIGHT_HTTP_ADDRESS`."},
		{Name: "skip_cert_verification", Type: typeBool, Default: false, Cost: CostNone, Doc: "Do not check the server's certificate. Anyone on the network path can then read and change the state."},
		{Name: "ca_certificate_pem", Type: typeString, Cost: CostNone, Doc: "Certificates of the CAs that may have signed the server's, instead of this machine's."},
		{Name: "client_certificate_pem", Type: typeString, Cost: CostNone, Doc: "Certificate to show to the server, with `client_private_key_pem`."},
		{Name: "client_private_key_pem", Type: typeString, Sensitive: true, Cost: CostNone, Doc: "Key of `client_certificate_pem`."},
		{Name: "retry_max", Type: typeNumber, Default: 2, Cost: CostNone, Doc: "How often a request is repeated that got no answer, or one of 5xx or 429."},
		{Name: "retry_wait_min", Type: typeNumber, Default: 1, Cost: CostNone, Doc: "Seconds before the first repetition; each further one waits twice as long."},
		{Name: "retry_wait_max", Type: typeNumber, Default: 30, Cost: CostNone, Doc: "Most seconds between two repetitions."},
	},
}

var s3Backend = &Block{
	Name: "s3", Doc: "An object in a bucket of S3 or of a server that is compatible with it and knows conditional writes. Its lock is an object beside it.",
	Attributes: []Attribute{
		{Name: "bucket", Type: typeString, Cost: CostNone, Doc: "The bucket, which must exist. It must be given."},
		{Name: "key", Type: typeString, Cost: CostNone, Doc: "Name of the object. It must be given. The lock is the object `KEY.lock`."},
		{Name: "region", Type: typeString, Derived: "`AWS_REGION`, `AWS_DEFAULT_REGION`, `us-east-1`", Cost: CostNone, Doc: "Region of the bucket."},
		{Name: "endpoint", Type: typeString, Derived: "`AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, AWS", Cost: CostNone, Doc: "URL of a server other than AWS's."},
		{Name: "use_path_style", Type: typeBool, Default: false, Cost: CostNone, Doc: "Name the bucket in the path of URLs and not in the host name, which servers of one's own mostly want."},
		{Name: "profile", Type: typeString, Derived: "`AWS_PROFILE`, `default`", Cost: CostNone, Doc: "Profile of `~/.aws/credentials`."},
		{Name: "access_key", Type: typeString, Sensitive: true, Cost: CostNone, Doc: "Access key, with `secret_key`. Without it `AWS_ACCESS_KEY_ID`, `~/.aws/credentials` (or `AWS_SHARED_CREDENTIALS_FILE`) and the machine's own role are asked, in this order."},
		{Name: "secret_key", Type: typeString, Sensitive: true, Cost: CostNone, Doc: "Secret key."},
		{Name: "token", Type: typeString, Sensitive: true, Cost: CostNone, Doc: "Session token of temporary credentials."},
		{Name: "encrypt", Type: typeBool, Default: false, Cost: CostNone, Doc: "Have the server encrypt what it stores (SSE-S3)."},
	},
}

var kubernetesBackend = &Block{
	Name: "kubernetes", Doc: "A Secret, compressed, and a Lease as its lock, in a cluster. Take one that kubewright with this state does not build: a cluster cannot tell about itself when it is down.",
	Attributes: []Attribute{
		{Name: "secret_suffix", Type: typeString, Cost: CostNone, Doc: "The Secret is `kubewright-state-SUFFIX`, the Lease `kubewright-lock-SUFFIX`. It must be given."},
		{Name: "namespace", Type: typeString, Derived: "of the context, `default`", Cost: CostNone, Doc: "Namespace, which must exist."},
		{Name: "config_path", Type: typeString, Derived: "`KUBECONFIG`, `~/.kube/config`", Cost: CostNone, Doc: "The kubeconfig; a relative name begins at the configuration folder. It must hold certificates and token itself, and may name neither programs nor files: see [docs/reference/backends.md](backends.md#which-kubeconfig)."},
		{Name: "config_context", Type: typeString, Derived: "the current one", Cost: CostNone, Doc: "Context of the kubeconfig."},
		{Name: "in_cluster_config", Type: typeBool, Default: false, Cost: CostNone, Doc: "Use the service account of the pod in which kubewright runs."},
	},
}

var pgBackend = &Block{
	Name: "pg", Doc: "A row of PostgreSQL. Its lock is an advisory lock of the connection, which ends with it.",
	Attributes: []Attribute{
		{Name: "conn_str", Type: typeString, Sensitive: true, Cost: CostNone, Doc: "Connection string, as in `postgres://user@db.example.com/states`, or `host=/run/postgresql dbname=states`. What it leaves out is taken from `PGHOST`, `PGUSER`, `PGPASSWORD` and the others, and from `~/.pgpass`. A password from there goes only to a server that is named there as well. Without `sslmode` it is `require`; give `verify-full`."},
		{Name: "schema_name", Type: typeString, Default: "kubewright", Cost: CostNone, Doc: "Schema of the table `states`. Both are made when they are missing."},
		{Name: "name", Type: typeString, Default: "default", Cost: CostNone, Doc: "Which row: one per state."},
	},
}
