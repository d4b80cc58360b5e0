package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/kubewright/kubewright/"

// allowed is the import diagram: which packages of this module a package may import.
// state ← config ← planner ← executor, providers ← engine ← cmd. Before changing a row to fix
// a build, ask whether the code is in the right package.
var allowed = map[string][]string{
	"state":            {"state/cache"},
	"state/growth":     {}, // for benchmarks
	"state/cache":      {},
	"state/safefile":   {"state"},
	"state/backend":    {"state"},
	"state/statefile":  {"state", "state/backend", "state/safefile"},
	"state/encryption": {"state", "state/safefile"},
	"state/kubeconfig": {},
	// One package per kind of backend, and the tests that all of them must pass.
	"state/backend/backendtest":               {"state/backend"},
	"state/backend/http/httptestserver":       {},
	"state/backend/kubernetes/kubernetestest": {},
	"state/backend/pg/pgtest":                 {"state/backend"},
	"state/backend/http":                      {"state", "state/backend"},
	"state/backend/kubernetes":                {"state", "state/backend", "state/kubeconfig", "state/safefile"},
	"state/backend/pg":                        {"state", "state/backend"},
	"state/backend/s3":                        {"state", "state/backend"},
	"config/diag":                             {"config/remedy", "state"},
	"config/elsewhere":                        {},
	"config/remedy":                           {},
	"examples":                                {},
	"config/hostrules":                        {},
	"config/nearest":                          {},
	"config/keypair":                          {},
	"config/componentflag":                    {"state"},
	"config":                                  {"config/keypair", "config/componentflag", "config/atrest", "state", "config/diag", "config/hostfile", "config/hostrules", "config/nearest", "state/encryption", "config/backup"},
	"config/atrest":                           {"state"},
	"config/hostfile":                         {"config/keypair", "state"},
	"config/hardening":                        {"state", "config", "config/diag", "config/hostrules"},
	"config/artifacts":                        {"state", "config", "config/diag", "state/safefile"},
	"config/manifest":                         {"state"},
	// Test helpers.
	"config/artifacts/artifactstest": {},
	"config/hclconfig/sourcetext":    {},
	"config/hclconfig":               {"config/atrest", "state", "config", "config/diag", "config/elsewhere", "config/manifest", "examples", "state/safefile", "config/backup", "config/hostfile", "config/hardening", "config/hclconfig/sourcetext"},
	"config/backup":                  {},
	"config/hclwriter":               {"state", "config", "config/hclconfig"},
	"planner":                        {"state", "config/diag"},
	"planner/dag":                    {},
	"planner/skew":                   {},
	"planner/diff":                   {"planner", "state"},
	"planner/quorum":                 {"config/remedy", "planner", "state"},
	"planner/policy":                 {"config/remedy", "state", "config", "planner"},
	"planner/kubeadm":                {"state", "state/cache", "config"},
	"planner/adopt":                  {"config/keypair", "config/remedy", "state", "config", "config/diag", "planner/kubeadm"},
	// Configurations for tests, of this package and of the oracle in cmd/lab.
	"planner/kubeadm/kubeadmtest": {"state", "config", "planner/kubeadm"},
	// The planner, lowest first.
	"planner/topology":          {"config", "planner", "planner/kubeadm", "planner/quorum", "planner/skew", "state"},
	"planner/provenance":        {"config", "planner", "planner/diff", "planner/kubeadm", "planner/topology", "state"},
	"planner/sensitive":         {"planner", "planner/topology", "state"},
	"planner/availability":      {"planner", "planner/quorum", "planner/topology", "state"},
	"planner/resolve":           {"config/keypair", "config", "planner/kubeadm", "planner/provenance", "planner/topology", "state"},
	"planner/phases/pki":        {"config/keypair", "config/remedy", "config", "config/diag", "planner", "planner/kubeadm", "planner/provenance", "planner/resolve", "planner/topology", "state"},
	"planner/phases/host":       {"config", "config/diag", "config/hostrules", "planner", "planner/kubeadm", "planner/phases/pki", "planner/provenance", "planner/sensitive", "planner/topology", "state"},
	"planner/phases/encryption": {"config", "config/atrest", "config/diag", "config/hostfile", "planner", "planner/topology", "state"},
	"planner/phases/staticpod":  {"config/componentflag", "config/remedy", "planner/phases/encryption", "config", "config/diag", "planner", "planner/kubeadm", "planner/phases/host", "planner/phases/pki", "planner/provenance", "planner/quorum", "planner/sensitive", "planner/skew", "planner/topology", "state"},
	"planner/phases/kubelet":    {"config", "config/diag", "planner", "planner/drain", "planner/kubeadm", "planner/phases/host", "planner/phases/pki", "planner/phases/staticpod", "planner/provenance", "planner/skew", "planner/topology", "state"},
	"planner/phases/objects":    {"config", "config/diag", "planner", "planner/diff", "planner/kubeadm", "planner/phases/kubelet", "planner/phases/pki", "planner/phases/staticpod", "planner/provenance", "planner/sensitive", "planner/topology", "state"},
	"planner/drain":             {"config/remedy", "config", "config/diag", "planner", "planner/kubeadm", "planner/phases/pki", "planner/topology", "state"},
	"planner/phases":            {"planner/phases/encryption", "planner/phases/host", "planner/phases/kubelet", "planner/phases/objects", "planner/phases/pki", "planner/phases/staticpod", "planner/topology", "state"},
	"planner/preflight":         {"config", "config/backup", "config/hostrules", "config/diag", "planner", "planner/kubeadm", "planner/phases", "planner/phases/host", "planner/skew", "planner/topology", "state"},
	"planner/observe":           {"planner/phases/encryption", "config/atrest", "config", "planner", "planner/kubeadm", "planner/phases", "planner/phases/host", "planner/phases/kubelet", "planner/phases/objects", "planner/phases/pki", "planner/phases/staticpod", "planner/preflight", "planner/provenance", "planner/resolve", "planner/sensitive", "planner/topology", "state"},
	"planner/etcd":              {"planner/availability", "config/remedy", "config", "config/diag", "planner", "planner/drain", "planner/kubeadm", "planner/observe", "planner/phases/pki", "planner/phases/staticpod", "planner/preflight", "planner/quorum", "planner/skew", "planner/topology", "state", "config/backup", "planner/absence"},
	"planner/immutable":         {"config", "config/diag", "planner/kubeadm", "planner/phases/pki", "planner/phases/staticpod", "planner/provenance", "planner/topology", "state"},
	"planner/ownership":         {"config/remedy", "config", "config/diag", "planner", "planner/etcd", "planner/observe", "planner/phases/host", "planner/phases/pki", "planner/preflight", "planner/resolve", "planner/topology", "state"},
	"planner/upgrade":           {"config", "config/diag", "planner", "planner/diff", "planner/drain", "planner/etcd", "planner/kubeadm", "planner/observe", "planner/phases/host", "planner/phases/kubelet", "planner/phases/objects", "planner/phases/pki", "planner/phases/staticpod", "planner/resolve", "planner/sensitive", "planner/skew", "planner/topology", "state"},
	"planner/drift":             {"config", "planner", "planner/diff", "planner/observe", "planner/ownership", "planner/phases/host", "planner/phases/kubelet", "planner/phases/pki", "planner/sensitive", "planner/topology", "state"},
	"planner/rotation":          {"config/remedy", "config", "config/diag", "planner", "planner/diff", "planner/drift", "planner/etcd", "planner/kubeadm", "planner/observe", "planner/phases/host", "planner/phases/kubelet", "planner/phases/objects", "planner/phases/pki", "planner/phases/staticpod", "planner/quorum", "planner/resolve", "planner/sensitive", "planner/topology", "planner/upgrade", "state"},
	"planner/reset":             {"config", "config/atrest", "planner", "planner/drain", "planner/immutable", "planner/observe", "planner/phases/host", "planner/phases/kubelet", "planner/phases/pki", "planner/preflight", "planner/rotation", "planner/topology", "state"},
	"planner/corefile":          {"config/diag", "planner/kubeadm", "planner/preflight", "planner/topology", "state"},
	"planner/pipeline":          {"planner/availability", "config/remedy", "planner/corefile", "planner/phases/encryption", "config", "config/diag", "planner", "planner/diff", "planner/drain", "planner/drift", "planner/etcd", "planner/immutable", "planner/kubeadm", "planner/observe", "planner/ownership", "planner/phases", "planner/phases/host", "planner/phases/kubelet", "planner/phases/objects", "planner/phases/pki", "planner/phases/staticpod", "planner/preflight", "planner/provenance", "planner/quorum", "planner/reset", "planner/resolve", "planner/rotation", "planner/sensitive", "planner/topology", "planner/upgrade", "state", "planner/absence", "config/hardening"},
	"planner/maintenance":       {"config/remedy", "config", "config/diag", "planner", "planner/drain", "planner/etcd", "planner/kubeadm", "planner/observe", "planner/phases/host", "planner/phases/objects", "planner/phases/staticpod", "planner/pipeline", "planner/quorum", "planner/resolve", "planner/topology", "state"},
	"planner/record":            {"config/remedy", "config", "config/diag", "planner", "planner/drift", "planner/immutable", "planner/maintenance", "planner/observe", "planner/ownership", "planner/phases", "planner/phases/host", "planner/phases/objects", "planner/phases/pki", "planner/phases/staticpod", "planner/pipeline", "planner/resolve", "planner/rotation", "planner/topology", "planner/upgrade", "state"},
	"planner/absence":           {"config", "planner", "planner/phases/pki", "planner/phases/staticpod", "planner/quorum", "planner/topology", "state"},
	// Clusters as values, for tests.
	"planner/topology/topologytest": {"config", "planner/kubeadm", "planner/resolve", "planner/topology", "state"},
	// An operator for tests, who keeps the keys of CAs.
	"planner/phases/pki/pkitest":  {"planner/phases/pki"},
	"planner/executor":            {"state", "planner", "planner/dag"},
	"planner/planfile":            {"state", "planner", "state/safefile"},
	"providers":                   {"config/atrest", "state", "planner", "planner/quorum", "providers/diagnosis", "providers/snapshots", "state/safefile", "providers/rehearsal"},
	"providers/diagnosis":         {},
	"providers/rehearsal":         {"config/atrest"},
	"providers/snapshots":         {"state/safefile"},
	"providers/budget":            {},
	"providers/shell":             {"config/atrest", "state", "planner", "providers", "providers/diagnosis", "providers/budget", "providers/pki", "providers/rehearsal"},
	"providers/ssh":               {"state", "planner", "providers", "providers/shell", "providers/sshconfig", "state/safefile"},
	"providers/sshconfig":         {"state/safefile"},
	"providers/local":             {"state", "planner", "providers", "providers/shell"},
	"providers/sim/file":          {"state", "state/kubeconfig"},
	"providers/sim/staticpod":     {"providers/sim/file", "state"},
	"providers/sim/refusal":       {"config/componentflag", "providers/sim/file", "state", "state/cache"},
	"providers/sim/store":         {"planner", "providers", "state"},
	"providers/sim/machine":       {"planner/skew", "planner", "providers", "providers/sim/file", "providers/sim/staticpod", "state", "state/cache"},
	"providers/sim/etcd":          {"providers/sim/file", "providers/sim/machine", "providers/sim/staticpod", "providers/sim/store", "state"},
	"providers/sim/apiserver":     {"config/atrest", "planner", "providers", "providers/sim/etcd", "providers/sim/file", "providers/sim/machine", "providers/sim/staticpod", "providers/sim/store", "state", "providers/rehearsal"},
	"providers/sim/workload":      {"planner", "providers", "providers/sim/apiserver", "providers/sim/etcd", "providers/sim/file", "providers/sim/machine", "providers/sim/staticpod", "providers/sim/store", "state"},
	"providers/sim/kubelet":       {"planner/skew", "planner", "providers/diagnosis", "providers/sim/apiserver", "providers/sim/etcd", "providers/sim/file", "providers/sim/machine", "providers/sim/refusal", "providers/sim/staticpod", "providers/sim/store", "state"},
	"providers/sim/operation":     {"config/backup", "planner", "providers", "providers/sim/apiserver", "providers/sim/etcd", "providers/sim/file", "providers/sim/kubelet", "providers/sim/machine", "providers/sim/staticpod", "state"},
	"providers/sim/observation":   {"config/atrest", "planner", "providers/sim/apiserver", "providers/sim/file", "providers/sim/kubelet", "providers/sim/machine", "providers/sim/store", "state"},
	"providers/sim/edit":          {"providers/sim/apiserver", "providers/sim/etcd", "providers/sim/file", "providers/sim/machine", "providers/sim/observation", "providers/sim/store", "state"},
	"providers/sim":               {"config/atrest", "planner/skew", "planner", "providers", "providers/diagnosis", "providers/sim/apiserver", "providers/sim/edit", "providers/sim/etcd", "providers/sim/file", "providers/sim/kubelet", "providers/sim/machine", "providers/sim/observation", "providers/sim/operation", "providers/sim/staticpod", "providers/sim/store", "providers/sim/workload", "state", "state/kubeconfig", "state/safefile", "providers/rehearsal"},
	"providers/kube":              {"state", "state/kubeconfig", "planner", "providers", "providers/budget", "providers/pki"},
	"providers/etcd":              {"config/atrest", "state", "planner", "providers", "providers/budget"},
	"providers/pki":               {"config/atrest", "state", "state/kubeconfig", "planner", "providers"},
	"providers/bundle":            {"config", "config/artifacts", "state/safefile"},
	"providers/bundle/bundletest": {"config/artifacts/artifactstest"},
	"providers/hosttest":          {"state", "planner", "providers"},
	// The spelling of remedies.
	"cmd/kubewright/internal/commandline": {"config/remedy", "state"},
	// Output, lowest first. The last package has plans for tests.
	"cmd/kubewright/internal/view/ui":         {"config/diag", "planner", "state"},
	"cmd/kubewright/internal/view/diffview":   {"cmd/kubewright/internal/view/ui", "config", "planner", "state"},
	"cmd/kubewright/internal/view/schedule":   {"cmd/kubewright/internal/view/ui", "planner", "planner/executor", "state"},
	"cmd/kubewright/internal/view/outline":    {"cmd/kubewright/internal/view/diffview", "cmd/kubewright/internal/view/schedule", "cmd/kubewright/internal/view/ui", "config/diag", "planner", "planner/executor", "planner/planfile", "planner/policy", "state"},
	"cmd/kubewright/internal/view/blocks":     {"cmd/kubewright/internal/view/diffview", "cmd/kubewright/internal/view/outline", "cmd/kubewright/internal/view/ui", "planner", "state"},
	"cmd/kubewright/internal/view/planview":   {"cmd/kubewright/internal/view/blocks", "cmd/kubewright/internal/view/diffview", "cmd/kubewright/internal/view/outline", "cmd/kubewright/internal/view/schedule", "cmd/kubewright/internal/view/ui", "planner", "planner/executor", "planner/planfile", "planner/policy", "state"},
	"cmd/kubewright/internal/view/planjson":   {"cmd/kubewright/internal/view/outline", "cmd/kubewright/internal/view/ui", "config/diag", "planner", "planner/executor", "planner/planfile", "state"},
	"cmd/kubewright/internal/view/graph":      {"cmd/kubewright/internal/view/outline", "cmd/kubewright/internal/view/schedule", "cmd/kubewright/internal/view/ui", "planner", "planner/executor", "state"},
	"cmd/kubewright/internal/view/export":     {"cmd/kubewright/internal/view/blocks", "cmd/kubewright/internal/view/diffview", "cmd/kubewright/internal/view/graph", "cmd/kubewright/internal/view/outline", "cmd/kubewright/internal/view/planjson", "cmd/kubewright/internal/view/planview", "cmd/kubewright/internal/view/schedule", "cmd/kubewright/internal/view/testreport", "cmd/kubewright/internal/view/ui", "config/diag", "planner", "state"},
	"cmd/kubewright/internal/view/rationale":  {"cmd/kubewright/internal/view/outline", "cmd/kubewright/internal/view/schedule", "cmd/kubewright/internal/view/ui", "config", "planner", "planner/executor", "state"},
	"cmd/kubewright/internal/view/progress":   {"cmd/kubewright/internal/view/ui", "planner/executor", "state"},
	"cmd/kubewright/internal/view/runreport":  {"cmd/kubewright/internal/commandline", "cmd/kubewright/internal/view/outline", "cmd/kubewright/internal/view/progress", "cmd/kubewright/internal/view/schedule", "cmd/kubewright/internal/view/ui", "planner", "planner/executor", "providers", "providers/diagnosis", "state"},
	"cmd/kubewright/internal/view/jsonlines":  {"cmd/kubewright/internal/view/outline", "cmd/kubewright/internal/view/planjson", "cmd/kubewright/internal/view/progress", "cmd/kubewright/internal/view/runreport", "cmd/kubewright/internal/view/schedule", "cmd/kubewright/internal/view/ui", "config/diag", "planner", "planner/executor", "state"},
	"cmd/kubewright/internal/view/stateview":  {"cmd/kubewright/internal/view/planjson", "cmd/kubewright/internal/view/ui", "state"},
	"cmd/kubewright/internal/view/listing":    {"cmd/kubewright/internal/commandline", "cmd/kubewright/internal/view/ui", "config/hclconfig", "planner", "planner/phases/pki", "planner/quorum", "providers/diagnosis", "state", "providers/rehearsal", "config/atrest"},
	"cmd/kubewright/internal/view/testreport": {},
	"cmd/kubewright/internal/view/testview":   {"cmd/kubewright/internal/view/jsonlines", "cmd/kubewright/internal/view/testreport", "cmd/kubewright/internal/view/ui", "config/diag"},
	"cmd/kubewright/internal/view/viewtest":   {"cmd/kubewright/internal/view/planview", "cmd/kubewright/internal/view/progress", "cmd/kubewright/internal/view/ui", "config/diag", "planner", "planner/executor", "providers", "state"},
	// The tools of releases, a module of their own.
	"tools/debian":   {},
	"tools/image":    {"tools/debian"},
	"tools/licences": {},
	"tools/release":  {"tools/debian", "tools/image"},
	"tools/sizes":    {},
	// The engine, which commands and tests share, and the commands.
	"engine":                            {"planner/availability", "config", "engine/hosts", "planner", "planner/drain", "planner/etcd", "planner/executor", "planner/immutable", "planner/maintenance", "planner/ownership", "planner/phases/objects", "planner/pipeline", "planner/quorum", "planner/record", "planner/topology", "providers", "state", "state/backend", "state/statefile"},
	"engine/hosts":                      {"config", "planner/etcd", "planner/immutable", "planner/kubeadm", "planner/observe", "planner/ownership", "planner/pipeline", "planner/rotation", "planner/topology", "planner/upgrade", "providers", "providers/budget", "providers/etcd", "providers/kube", "providers/local", "providers/pki", "providers/shell", "providers/sim", "providers/ssh", "state"},
	"cmd/kubewright/internal/access":    {"cmd/kubewright/internal/console", "cmd/kubewright/internal/session", "cmd/kubewright/internal/workspace", "config", "config/diag", "planner", "planner/phases/pki", "providers", "providers/pki", "state", "state/kubeconfig", "state/safefile"},
	"cmd/kubewright/internal/adoption":  {"cmd/kubewright/internal/console", "cmd/kubewright/internal/session", "cmd/kubewright/internal/view/planview", "cmd/kubewright/internal/view/ui", "cmd/kubewright/internal/workspace", "config", "config/diag", "config/hclconfig", "config/hclwriter", "engine/hosts", "planner", "planner/adopt", "planner/pipeline", "planner/record", "providers", "state", "state/safefile", "state/statefile"},
	"cmd/kubewright/internal/apply":     {"cmd/kubewright/internal/commandline", "cmd/kubewright/internal/console", "cmd/kubewright/internal/session", "cmd/kubewright/internal/view/planview", "cmd/kubewright/internal/view/runreport", "cmd/kubewright/internal/view/ui", "cmd/kubewright/internal/workspace", "config", "config/diag", "engine", "planner", "planner/drift", "planner/executor", "planner/ownership", "planner/phases/host", "planner/phases/objects", "planner/planfile", "planner/policy", "planner/record", "planner/topology", "state", "state/backend", "state/statefile", "planner/drain"},
	"cmd/kubewright/internal/backups":   {"config/atrest", "cmd/kubewright/internal/apply", "cmd/kubewright/internal/console", "cmd/kubewright/internal/session", "cmd/kubewright/internal/view/listing", "cmd/kubewright/internal/workspace", "config", "config/backup", "config/diag", "engine/hosts", "planner", "planner/etcd", "planner/maintenance", "planner/topology", "providers/snapshots", "state", "state/safefile", "planner/kubeadm", "planner/phases/encryption", "planner/resolve", "providers/rehearsal", "state/encryption"},
	"cmd/kubewright/internal/cli":       {"cmd/kubewright/internal/commandline", "cmd/kubewright/internal/access", "cmd/kubewright/internal/adoption", "cmd/kubewright/internal/apply", "cmd/kubewright/internal/backups", "cmd/kubewright/internal/console", "cmd/kubewright/internal/doctor", "cmd/kubewright/internal/formatter", "cmd/kubewright/internal/session", "cmd/kubewright/internal/starter", "cmd/kubewright/internal/status", "cmd/kubewright/internal/testrun", "cmd/kubewright/internal/view/export", "cmd/kubewright/internal/view/jsonlines", "cmd/kubewright/internal/view/listing", "cmd/kubewright/internal/view/rationale", "cmd/kubewright/internal/view/stateview", "cmd/kubewright/internal/view/testview", "cmd/kubewright/internal/view/ui", "cmd/kubewright/internal/workspace", "config", "config/artifacts", "config/diag", "config/elsewhere", "config/hclconfig", "engine", "engine/hosts", "examples", "planner", "planner/etcd", "planner/kubeadm", "planner/maintenance", "planner/ownership", "planner/pipeline", "planner/planfile", "planner/record", "planner/rotation", "planner/skew", "planner/topology", "providers", "providers/bundle", "providers/sim", "providers/snapshots", "state", "state/backend", "state/encryption", "state/safefile", "state/statefile", "cmd/kubewright/internal/flaghelp", "cmd/kubewright/internal/flagvalue"},
	"cmd/kubewright/internal/formatter": {"cmd/kubewright/internal/console", "cmd/kubewright/internal/view/ui", "cmd/kubewright/internal/workspace", "config/diag", "config/hclconfig", "state/safefile"},
	"cmd/kubewright/internal/doctor":    {"cmd/kubewright/internal/console", "cmd/kubewright/internal/session", "cmd/kubewright/internal/view/listing", "cmd/kubewright/internal/view/ui", "cmd/kubewright/internal/workspace", "config/diag", "engine/hosts", "planner", "planner/phases/pki", "planner/record", "planner/resolve", "planner/topology", "providers", "providers/diagnosis", "state", "state/safefile"},
	"cmd/kubewright/internal/status":    {"cmd/kubewright/internal/console", "cmd/kubewright/internal/session", "cmd/kubewright/internal/view/listing", "cmd/kubewright/internal/view/ui", "cmd/kubewright/internal/workspace", "config", "config/backup", "config/diag", "engine/hosts", "planner", "planner/etcd", "planner/phases/pki", "planner/pipeline", "planner/record", "planner/skew", "planner/topology", "providers/snapshots", "state", "state/backend"},
	"cmd/kubewright/internal/console":   {"cmd/kubewright/internal/commandline", "cmd/kubewright/internal/coredump", "cmd/kubewright/internal/logged", "cmd/kubewright/internal/view/jsonlines", "cmd/kubewright/internal/view/planview", "cmd/kubewright/internal/view/progress", "cmd/kubewright/internal/view/runreport", "cmd/kubewright/internal/view/schedule", "cmd/kubewright/internal/view/stateview", "cmd/kubewright/internal/view/ui", "config", "config/diag", "engine", "planner", "planner/etcd", "planner/executor", "planner/pipeline", "providers", "providers/sim", "state", "state/backend", "state/statefile"},
	"cmd/kubewright/internal/coredump":  {},
	"cmd/kubewright/internal/logged":    {"cmd/kubewright/internal/view/ui", "planner", "planner/executor", "providers", "providers/diagnosis", "state", "state/backend", "providers/rehearsal"},
	"cmd/kubewright/internal/flaghelp":  {},
	"cmd/kubewright/internal/flagvalue": {"cmd/kubewright/internal/view/ui", "planner/planfile"},
	"cmd/kubewright/internal/session":   {"config/remedy", "cmd/kubewright/internal/commandline", "cmd/kubewright/internal/console", "cmd/kubewright/internal/logged", "cmd/kubewright/internal/view/jsonlines", "cmd/kubewright/internal/view/progress", "cmd/kubewright/internal/view/ui", "cmd/kubewright/internal/workspace", "config", "config/diag", "config/hclconfig", "engine/hosts", "planner", "planner/executor", "planner/maintenance", "planner/ownership", "planner/pipeline", "planner/planfile", "planner/policy", "planner/record", "planner/rotation", "planner/topology", "providers", "state", "state/safefile", "state/statefile"},
	"cmd/kubewright/internal/starter":   {"config/diag", "config/hclwriter", "examples"},
	"cmd/kubewright/internal/testrun":   {"cmd/kubewright/internal/apply", "cmd/kubewright/internal/console", "cmd/kubewright/internal/session", "cmd/kubewright/internal/view/testview", "cmd/kubewright/internal/view/ui", "cmd/kubewright/internal/workspace", "config", "config/diag", "config/hclconfig", "engine/hosts", "planner", "providers/sim", "state", "state/safefile"},
	"cmd/kubewright/internal/workspace": {"cmd/kubewright/internal/console", "cmd/kubewright/internal/logged", "cmd/kubewright/internal/view/jsonlines", "cmd/kubewright/internal/view/ui", "config", "config/artifacts", "config/diag", "config/hclconfig", "examples", "planner/kubeadm", "planner/pipeline", "planner/planfile", "state", "state/backend", "state/backend/http", "state/backend/kubernetes", "state/backend/pg", "state/backend/s3", "state/encryption", "state/safefile", "state/statefile"},
}

// forbidden are imports from outside the module that are allowed in one place only.
var forbidden = []struct {
	path string
	only []string
}{
	{"github.com/hashicorp/hcl/v2", []string{"config/hclconfig", "config/hclconfig/sourcetext", "config/hclwriter"}},
	{"github.com/zclconf/go-cty", []string{"config/hclconfig", "config/hclwriter"}},
	{"golang.org/x/crypto/ssh", []string{"providers/ssh", "providers/ssh/sshtest", "state/encryption"}},
	{"filippo.io/age", []string{"state/encryption"}},
	// config/manifest uses the API types only.
	// clientcmd runs programs and opens files that a kubeconfig names: only for the operator's own.
	{"k8s.io/client-go/tools/clientcmd", []string{"state/backend/kubernetes"}},
	{"k8s.io/client-go/kubernetes", []string{"config/manifest", "providers/kube", "state/backend/kubernetes", "state/backend/kubernetes/kubernetestest"}},
	{"github.com/minio/minio-go/v7", []string{"state/backend/s3"}},
	{"github.com/jackc/pgx/v5", []string{"state/backend/pg"}},
	{"github.com/google/go-containerregistry", []string{"providers/bundle", "providers/bundle/bundletest", "tools/image"}},
	// Its packages import kubectl as a whole, with kustomize and printers.
	{"k8s.io/kubectl", nil},
	{"k8s.io/kubernetes", nil},
}

// pure packages use no clock, randomness, files, network or goroutines.
var pure = []string{
	"state", "config", "config/atrest", "config/remedy", "config/hardening", "config/componentflag", "config/hostfile", "config/hclconfig/sourcetext", "config/manifest", "planner", "planner/dag", "planner/skew",
	"planner/diff", "planner/quorum", "planner/availability", "planner/policy", "planner/kubeadm", "planner/adopt", "planner/topology", "planner/provenance", "planner/sensitive",
	"planner/resolve", "planner/phases/pki", "planner/phases/host", "planner/phases/encryption", "planner/phases/staticpod", "planner/phases/kubelet",
	"planner/phases/objects", "planner/drain", "planner/phases", "planner/preflight", "planner/observe", "planner/etcd", "planner/immutable", "planner/ownership",
	"planner/upgrade", "planner/drift", "planner/rotation", "planner/reset", "planner/corefile", "planner/pipeline", "planner/maintenance", "planner/record",
	"planner/absence", "cmd/kubewright/internal/view/ui", "cmd/kubewright/internal/view/diffview", "cmd/kubewright/internal/view/schedule",
	"cmd/kubewright/internal/view/outline", "cmd/kubewright/internal/view/blocks", "cmd/kubewright/internal/view/planview", "cmd/kubewright/internal/view/planjson",
	"cmd/kubewright/internal/view/graph", "cmd/kubewright/internal/view/export", "cmd/kubewright/internal/view/rationale", "cmd/kubewright/internal/view/runreport",
	"cmd/kubewright/internal/view/stateview", "cmd/kubewright/internal/view/listing",
}

var impure = []string{"os", "net/http", "math/rand", "math/rand/v2", "crypto/rand", "os/exec", "context", "sync"}

// TestPurePackagesHaveNoClock checks that pure packages start no goroutine and read no clock:
// their results depend on their arguments alone and are complete on return.
func TestPurePackagesHaveNoClock(t *testing.T) {
	t.Parallel()
	for _, pkg := range pure {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pkg), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no files: %v", pkg, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s: package %s is pure and may not start a goroutine", set.Position(n.Pos()), pkg)
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
						t.Errorf("%s: package %s is pure and may not read the clock", set.Position(n.Pos()), pkg)
					}
				}
				return true
			})
		}
	}
}

// clock are the functions of package time whose result depends on when they are called.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

func TestImportsFollowTheDiagram(t *testing.T) {
	t.Parallel()
	for pkg, imports := range packages(t) {
		for _, imp := range imports {
			own, isOwn := strings.CutPrefix(imp, module)
			if list, listed := allowed[pkg]; isOwn && listed && !slices.Contains(list, own) {
				t.Errorf("package %s may not import %s; see the diagram in deps_test.go before changing it", pkg, own)
			}
			if slices.Contains(pure, pkg) && slices.Contains(impure, imp) {
				t.Errorf("package %s is pure and may not import %s", pkg, imp)
			}
			for _, f := range forbidden {
				if (imp == f.path || strings.HasPrefix(imp, f.path+"/")) && !slices.Contains(f.only, pkg) && !strings.HasPrefix(pkg, "cmd/lab") {
					t.Errorf("package %s may not import %s; it belongs in %v", pkg, imp, f.only)
				}
			}
		}
		if _, listed := allowed[pkg]; !listed && !strings.HasPrefix(pkg, "cmd/") && !strings.HasPrefix(pkg, "providers/ssh/") {
			t.Errorf("package %s is missing from the import diagram", pkg)
		}
	}
}

// TestArchitecturePage checks the diagrams of the planner and of the output in
// docs/architecture.md: each row lists the packages that import only rows below it.
func TestArchitecturePage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/architecture.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var output []string
	for pkg := range allowed {
		if !strings.HasSuffix(pkg, "test") {
			output = append(output, pkg)
		}
	}
	want := withPicture(t, string(text), "layers", picture("planner", pure))
	want = withPicture(t, want, "output layers", picture("cmd/kubewright/internal/view", output))
	if want != string(text) {
		if os.Getenv("UPDATE") == "" {
			t.Fatal("a diagram in docs/architecture.md does not match the table: UPDATE=1 go test ./cmd/kubewright -run ArchitecturePage")
		}
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestArchitecturePageNamesPackages checks that the table of docs/architecture.md has each package of
// the command; those that print are in the picture of the output.
func TestArchitecturePageNamesPackages(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := os.ReadDir("internal")
	if err != nil || len(folders) < 5 {
		t.Fatalf("%d packages in internal: %v", len(folders), err)
	}
	for _, f := range folders {
		row, short := "`cmd/kubewright/internal/"+f.Name()+"`", "`…/"+f.Name()+"`"
		if f.Name() != "view" && !strings.Contains(string(text), row) && !strings.Contains(string(text), short) {
			t.Errorf("docs/architecture.md does not say what %s is for: add a row to the table of the packages from the planner to the command", row)
		}
	}
}

// TestContributingQuotesCode checks that the good doc comments in CONTRIBUTING.md are those of the code.
func TestContributingQuotesCode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, path := range sources(t, filepath.Join("..", "..")) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(content)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		_, quoted, good := strings.Cut(line, "| good | `")
		if !good {
			continue
		}
		rows++
		if comment, _, _ := strings.Cut(quoted, "`"); !strings.Contains(code.String(), "\n"+comment) {
			t.Errorf("CONTRIBUTING.md praises a comment that the code does not have: %s", comment)
		}
	}
	if rows == 0 {
		t.Error("CONTRIBUTING.md has no good comments")
	}
}

// picture returns the rows of the packages at and below a folder.
func picture(folder string, list []string) string {
	rows := map[int][]string{}
	var row func(pkg string) int
	row = func(pkg string) int {
		n := 0
		for _, imp := range allowed[pkg] {
			if strings.HasPrefix(imp, folder) {
				n = max(n, row(imp)+1)
			}
		}
		return n
	}
	top := 0
	for _, pkg := range list {
		if strings.HasPrefix(pkg, folder) {
			n := row(pkg)
			rows[n] = append(rows[n], strings.TrimPrefix(pkg, folder+"/"))
			top = max(top, n)
		}
	}
	var b strings.Builder
	b.WriteString("```\n")
	for n := top; n >= 0; n-- {
		slices.Sort(rows[n])
		b.WriteString(strings.Join(rows[n], "   ") + "\n")
	}
	b.WriteString("```\n")
	return b.String()
}

// withPicture puts a picture between its marks in a page.
func withPicture(t *testing.T, page, mark, picture string) string {
	t.Helper()
	before, rest, _ := strings.Cut(page, "<!-- "+mark+" -->\n")
	_, after, found := strings.Cut(rest, "<!-- /"+mark+" -->")
	if !found {
		t.Fatalf("docs/architecture.md has no picture of the %s", mark)
	}
	return before + "<!-- " + mark + " -->\n" + picture + "<!-- /" + mark + " -->" + after
}

// packages lists the imports of every package's non-test files.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	root := filepath.Join("..", "..")
	out := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg = filepath.ToSlash(pkg)
		for _, i := range f.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			if !slices.Contains(out[pkg], p) {
				out[pkg] = append(out[pkg], p)
			}
		}
		if out[pkg] == nil {
			out[pkg] = []string{}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
