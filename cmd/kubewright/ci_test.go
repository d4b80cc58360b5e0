package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/state/backend/http/httptestserver"
)

// ciConfig is the repository that the workflows of docs/how-to/ci.md work on.
const ciConfig = `cluster "solo" {
  kubernetes_version = "1.36.3"
  network {
    pod_subnet = "10.244.0.0/16"
  }
  kubelet {
    config = { maxPods = 110 }
  }
}

node "solo" {
  cluster = cluster.solo
  role    = "control-plane"
  name    = "solo"
  address = "192.0.2.10"
}

connection {
  type = "sim"
}
`

// ciStubs replace the services' command line tools: each records its arguments and the text
// that would be posted. kubewright itself is the real one.
var ciStubs = map[string]string{
	"kubewright": "#!/bin/sh\nexec ${CI_PROGRAM:-kubewright-process} \"$@\"\n",
	"gh": `#!/bin/sh
echo "gh $*" >> "$CI_LOG"
if [ "$1 $2" = "issue list" ]; then echo "$CI_OPEN_ISSUE"; fi
while [ $# -gt 0 ]; do
  if [ "$1" = --body-file ]; then cat "$2" >> "$CI_LOG"; fi
  shift
done
`,
	"glab": `#!/bin/sh
echo "glab $*" >> "$CI_LOG"
for last; do :; done
cat "${last#body=@}" >> "$CI_LOG"
`,
}

// ci is a service that runs the workflows of docs/how-to/ci.md.
type ci struct {
	t *testing.T
	// files are the YAML documents of the page by the path in their first line.
	files map[string]map[string]any
	// left are the steps that have not run yet.
	left map[string]bool
	// repo is what a checkout gets; shared holds the programs and the hosts that all jobs
	// reach. Nothing else outlives a job.
	repo, shared string
	// backend is the environment beyond what the page sets: where the test's servers are.
	// desk adds the credentials of an operator. secret must not appear in any output.
	backend, desk map[string]string
	secret        string
	artifacts     map[string][]byte
	// replaced is the saved plan that an attacker put in place of the artifact.
	replaced []byte
	// values are what the service defines: GitHub's expressions, GitLab's variables.
	values map[string]string
}

var (
	ciBlock = regexp.MustCompile("(?s)```yaml\n# (\\S+)\n(.*?)```\n")
	// ciState is the file with the backend block; each service has its own.
	ciState = regexp.MustCompile("(?s)```hcl\n# state.hcl\n(.*?)```\n")
)

// newCI returns a service whose state is kept in a backend of this type.
func newCI(t *testing.T, backend string) *ci {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(examples, "..", "docs", "how-to", "ci.md"))
	if err != nil {
		t.Fatal(err)
	}
	c := &ci{t: t, files: map[string]map[string]any{}, left: map[string]bool{}, repo: t.TempDir(), shared: t.TempDir(), artifacts: map[string][]byte{}}
	for _, m := range ciBlock.FindAllStringSubmatch(string(page), -1) {
		var doc map[string]any
		if err := yaml.UnmarshalStrict([]byte(m[2]), &doc); err != nil {
			t.Fatalf("%s: %v", m[1], err)
		}
		c.files[m[1]] = doc
	}
	if n := strings.Count(string(page), "```yaml\n"); n != len(c.files) || n == 0 {
		t.Fatalf("of %d YAML documents %d name their file in the first line", n, len(c.files))
	}
	for name, text := range ciStubs {
		hosttest.WriteProgram(t, filepath.Join(c.shared, name), text)
	}
	c.edit("", ciConfig)
	for _, m := range ciState.FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(m[1], fmt.Sprintf("backend %q", backend)) {
			write(t, filepath.Join(c.repo, "state.hcl"), m[1])
			return c
		}
	}
	t.Fatalf("the page keeps no state in the backend %q", backend)
	return nil
}

// ciHosts is the file of the simulated hosts.
const ciHosts = "kubewright.sim.json"

// reach gives a job access to the hosts; leave keeps their changes when the job ends.
func (c *ci) reach(dir string) (leave func()) {
	c.t.Helper()
	carry := func(from, to string) {
		b, err := os.ReadFile(filepath.Join(from, ciHosts))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, ciHosts), b, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.t.Fatal(err)
		}
	}
	carry(c.shared, dir)
	return func() { carry(dir, c.shared) }
}

// edit changes the configuration in the repository.
func (c *ci) edit(old, with string) {
	c.t.Helper()
	path := filepath.Join(c.repo, "main.hcl")
	text := with
	if old != "" {
		b, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(b), old) {
			c.t.Fatalf("%s is not there: %v", old, err)
		}
		text = strings.Replace(string(b), old, with, 1)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// checkout returns a folder with a copy of the repository.
func (c *ci) checkout() string {
	c.t.Helper()
	dir := c.t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(c.repo)); err != nil {
		c.t.Fatal(err)
	}
	return dir
}

// shell runs a script as the services do. It returns the exit code and the output.
func (c *ci) shell(dir, script string, env map[string]string) (int, string) {
	c.t.Helper()
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + c.shared + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + c.shared, "CI=true", "CI_LOG=" + filepath.Join(c.shared, "log"),
		raceOptions + "=" + noWaiting,
	}
	for _, from := range []map[string]string{c.backend, env} {
		for name, value := range from {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	leave := c.reach(dir)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		c.t.Fatal(err)
	}
	leave()
	if strings.Contains(string(out), c.secret) {
		c.t.Errorf("the output contains the credentials of the state:\n%s", out)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// replacedBy replaces the artifact with the plan of a command that a user who can read the
// state runs.
func (c *ci) replacedBy(command string) {
	c.t.Helper()
	dir := c.checkout()
	code, out := c.shell(dir, command, c.desk)
	c.want(command, code, 0, out)
	b, err := os.ReadFile(filepath.Join(dir, "plan.kwplan"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.replaced = b
}

// log returns what gh and glab were called with since the last call.
func (c *ci) log() string {
	path := filepath.Join(c.shared, "log")
	b, _ := os.ReadFile(path)
	_ = os.Remove(path)
	return string(b)
}

// byHand changes a host outside of kubewright.
func (c *ci) byHand(change string) {
	c.t.Helper()
	c.atDesk("sim edit " + change)
}

// atDesk returns the output of a command that an operator runs against the same state.
func (c *ci) atDesk(command string) string {
	c.t.Helper()
	code, out := c.shell(c.checkout(), "kubewright "+command, c.desk)
	if code != 0 {
		c.t.Fatal(out)
	}
	return out
}

// want checks an exit code and that the output contains texts.
func (c *ci) want(what string, code, wantCode int, out string, texts ...string) {
	c.t.Helper()
	if code != wantCode {
		c.t.Fatalf("%s: exit code %d, want %d\n%s", what, code, wantCode, out)
	}
	for _, text := range texts {
		if !strings.Contains(out, text) {
			c.t.Fatalf("%s: there is no %q in\n%s", what, text, out)
		}
	}
}

// allRan fails for steps of the page that have not run.
func (c *ci) allRan() {
	c.t.Helper()
	if len(c.left) > 0 {
		c.t.Errorf("these steps of docs/how-to/ci.md were never run: %s", strings.Join(slices.Sorted(maps.Keys(c.left)), ", "))
	}
}

var shortDigest = regexp.MustCompile(`-approve=([0-9a-f]+)`)

func digestIn(t *testing.T, text string) string {
	t.Helper()
	m := shortDigest.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no digest in\n%s", text)
	}
	return m[1]
}

// TestGitHubWorkflows runs the workflows of docs/how-to/ci.md, from a pull request to the nightly
// job that finds drift.
func TestGitHubWorkflows(t *testing.T) {
	t.Parallel()
	c := &github{newCI(t, "s3")}
	c.listSteps()
	c.serve()

	code, out := c.event("pull_request")
	c.want("a pull request", code, 0, out, "::notice title=kubewright::Plan: 2 to add")
	if log := c.log(); !strings.Contains(log, "gh pr comment 7 ") || !strings.Contains(log, "### kubewright: Plan: 2 to add, 0 to change, 0 to destroy") {
		t.Fatalf("the comment is %s", log)
	}
	code, out = c.event("push")
	c.want("a push", code, 0, out, "Apply complete! Resources: 2 added")
	code, out = c.event("push")
	c.want("a push that changes nothing", code, 0, out, "Nothing to apply.")

	c.edit("maxPods = 110", "maxPods = 120")
	code, out = c.event("pull_request")
	c.want("another pull request", code, 0, out, "main.hcl%3A7 changes")
	c.replacedBy("kubewright plan -destroy -input=false -out=plan.kwplan")
	code, out = c.event("push")
	c.want("another plan in the place of the artifact", code, 1, out, "Another plan was approved")
	c.replaced = nil
	c.values["inputs.digest"] = "0123456789abcdef"
	code, out = c.event("workflow_dispatch")
	c.want("another digest", code, 1, out, "Another plan was approved")
	c.values["inputs.digest"] = digestIn(t, c.log())
	code, out = c.event("workflow_dispatch")
	c.want("the digest", code, 0, out, "Apply complete! Resources: 0 added")

	c.edit("maxPods = 120", "maxPods = 130")
	c.killed()
	code, out = c.event("schedule")
	c.want("a quiet night", code, 0, out, "Nothing differs.")
	c.byHand("192.0.2.10 yaml /var/lib/kubelet/config.yaml set maxPods=50")
	code, out = c.event("schedule")
	c.want("a night", code, 0, out, "::warning title=node.solo changed outside")
	if log := c.log(); !strings.Contains(log, "gh issue create --label drift") || !strings.Contains(log, "maxPods = 50 -> 130") {
		t.Fatalf("the issue is %s", log)
	}
	c.values["open issue"] = "12"
	code, out = c.event("schedule")
	c.want("the next night", code, 0, out)
	if log := c.log(); !strings.Contains(log, "gh issue comment 12 ") {
		t.Fatalf("the issue is %s", log)
	}
	c.event("push")
	c.byHand("192.0.2.10 time 8232h")
	code, out = c.event("schedule")
	c.want("a night in which certificates are due", code, 7, out, "11 certificates to renew within 25 days")
	c.byHand("192.0.2.10 power off")
	code, out = c.event("schedule")
	c.want("a host that is off", code, 6, out, "::error::A host does not answer.")
	c.allRan()
}

// github runs workflows as GitHub Actions does.
type github struct{ *ci }

// serve serves the bucket.
func (c *github) serve() {
	c.t.Helper()
	memory := s3mem.New()
	if err := memory.CreateBucket("example-kubewright"); err != nil {
		c.t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(memory).Server())
	c.t.Cleanup(server.Close)
	c.secret = "canary-of-the-bucket"
	c.values["secrets.STATE_ACCESS_KEY_ID"], c.values["secrets.STATE_SECRET_ACCESS_KEY"] = "AKTEST", c.secret
	c.backend = map[string]string{"AWS_ENDPOINT_URL_S3": server.URL, "KUBEWRIGHT_S3_USE_PATH_STYLE": "true"}
	c.desk = map[string]string{"AWS_ACCESS_KEY_ID": "AKTEST", "AWS_SECRET_ACCESS_KEY": c.secret}
}

var ciLock = regexp.MustCompile(`"id": "([0-9a-f]{32})"`)

// killed is a push whose job is killed during an apply: its lock stays until an operator
// ends it, and the whole workflow then continues from the observed state.
func (c *github) killed() {
	c.t.Helper()
	maps.Copy(c.backend, map[string]string{"CI_PROGRAM": "kubewright-killed", "KILLED_AT": "[1/", "KILLED_DURABLE": "1"})
	code, out := c.event("push")
	c.want("a job that is killed", code, 137, out)
	delete(c.backend, "CI_PROGRAM")
	id := ciLock.FindStringSubmatch(c.atDesk("lock status -json"))
	if id == nil {
		c.t.Fatal("the lock is gone with the job")
	}
	c.atDesk("force-unlock -force " + id[1])
	c.byHand("192.0.2.10 time " + leaseOver.String())
	code, out = c.event("push")
	c.want("the next push", code, 0, out, "Apply complete!")
}

func (c *github) listSteps() {
	c.values = map[string]string{
		"github.token": "secret", "github.event.pull_request.number": "7", "github.repository": "ada/clusters",
		"github.event.pull_request.head.repo.full_name": "ada/clusters",
	}
	for _, file := range c.workflows() {
		for job, j := range c.files[file]["jobs"].(map[string]any) {
			for i, s := range j.(map[string]any)["steps"].([]any) {
				if run, ok := s.(map[string]any)["run"]; ok {
					c.left[fmt.Sprintf("%s: %s: step %d", file, job, i+1)] = true
					if strings.Contains(run.(string), "${{") {
						c.t.Errorf("%s: %s: an expression within a script lets others write commands: give it in env", file, job)
					}
				}
			}
		}
	}
}

func (c *github) workflows() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.files)), func(name string) bool { return !strings.HasPrefix(name, ".github/workflows/") })
}

// event runs every workflow for an event, each until a job fails, and returns the exit code of the
// last one that failed.
func (c *github) event(name string) (int, string) {
	c.t.Helper()
	said, ran, failed := "", false, 0
	for _, file := range c.workflows() {
		doc := c.files[file]
		on := doc["on"]
		if on == nil {
			on = doc["true"] // YAML reads the key "on" as a boolean
		}
		if _, ok := on.(map[string]any)[name]; !ok {
			continue
		}
		ran = true
		jobs := doc["jobs"].(map[string]any)
		for len(jobs) > 0 {
			for job, j := range jobs {
				j := j.(map[string]any)
				if needs, ok := j["needs"].(string); ok && jobs[needs] != nil {
					continue
				}
				jobs = maps.Clone(jobs)
				delete(jobs, job)
				code, out := c.job(file, job, doc, j)
				said += out
				if code != 0 {
					failed, jobs = code, nil
				}
				break
			}
		}
	}
	if !ran {
		c.t.Fatalf("no workflow for the event %s", name)
	}
	return failed, said
}

func (c *github) job(file, job string, doc, j map[string]any) (int, string) {
	c.t.Helper()
	if !c.condition(j["if"]) {
		return 0, ""
	}
	dir, said := "", ""
	for i, s := range j["steps"].([]any) {
		step := s.(map[string]any)
		if !c.condition(step["if"]) {
			continue
		}
		if uses, ok := step["uses"].(string); ok {
			dir = c.action(uses, dir, step)
			continue
		}
		delete(c.left, fmt.Sprintf("%s: %s: step %d", file, job, i+1))
		output, summary := filepath.Join(c.t.TempDir(), "output"), filepath.Join(c.t.TempDir(), "summary")
		env := map[string]string{"GITHUB_OUTPUT": output, "GITHUB_STEP_SUMMARY": summary, "GITHUB_ACTIONS": "true", "CI_OPEN_ISSUE": c.values["open issue"]}
		for _, from := range []any{doc["env"], j["env"], step["env"]} {
			if from, ok := from.(map[string]any); ok {
				for name, value := range from {
					env[name] = c.expression(value.(string))
				}
			}
		}
		code, out := c.shell(dir, step["run"].(string), env)
		said += out
		c.outputs(step, j, job, output)
		if code != 0 {
			return code, said
		}
	}
	return 0, said
}

// outputs records the outputs of a step, and derives those of its job.
func (c *github) outputs(step, j map[string]any, job, file string) {
	c.t.Helper()
	b, _ := os.ReadFile(file)
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		c.values[fmt.Sprintf("steps.%v.outputs.%s", step["id"], name)] = value
	}
	if of, ok := j["outputs"].(map[string]any); ok && len(b) > 0 {
		for name, value := range of {
			c.values["needs."+job+".outputs."+name] = c.expression(value.(string))
		}
	}
}

// action does what an action of the page does. It returns the folder of the steps after it.
func (c *github) action(uses, dir string, step map[string]any) string {
	c.t.Helper()
	name, _, _ := strings.Cut(uses, "@")
	with, _ := step["with"].(map[string]any)
	switch name {
	case "actions/checkout":
		return c.checkout()
	case "actions/upload-artifact":
		c.upload(fmt.Sprint(with["name"]), filepath.Join(dir, with["path"].(string)))
	case "actions/download-artifact":
		// The file keeps its name within an artifact of one file.
		c.download(fmt.Sprint(with["name"]), filepath.Join(dir, "plan.kwplan"))
	default:
		c.t.Fatalf("what does %s do?", uses)
	}
	return dir
}

func (c *ci) upload(name, path string) {
	c.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	c.artifacts[name] = b
}

func (c *ci) download(name, path string) {
	c.t.Helper()
	content := c.artifacts[name]
	if c.replaced != nil && filepath.Base(path) == "plan.kwplan" {
		content = c.replaced
	}
	if content == nil {
		c.t.Fatalf("there is no artifact %s", name)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

var (
	githubExpression = regexp.MustCompile(`\$\{\{ *(\S+) *\}\}`)
	githubCondition  = regexp.MustCompile(`^(\S+) (==|!=) (\S+)$`)
)

// expression replaces the expressions that the service defines.
func (c *github) expression(text string) string {
	c.t.Helper()
	return githubExpression.ReplaceAllStringFunc(text, func(x string) string { return c.value(githubExpression.FindStringSubmatch(x)[1]) })
}

func (c *github) value(name string) string {
	c.t.Helper()
	if text, ok := strings.CutPrefix(name, "'"); ok {
		return strings.TrimSuffix(text, "'")
	}
	v, ok := c.values[name]
	if !ok {
		c.t.Fatalf("what is %s?", name)
	}
	return v
}

func (c *github) condition(x any) bool {
	c.t.Helper()
	if x == nil {
		return true
	}
	m := githubCondition.FindStringSubmatch(x.(string))
	if m == nil {
		c.t.Fatalf("what does the condition %v mean?", x)
	}
	return (c.value(m[1]) == c.value(m[3])) == (m[2] == "==")
}

// TestGitLabPipelines runs the pipelines of docs/how-to/ci.md.
func TestGitLabPipelines(t *testing.T) {
	t.Parallel()
	c := &gitlab{newCI(t, "http")}
	c.listSteps()
	c.serve()

	code, out := c.pipeline("merge_request_event", "")
	c.want("a merge request", code, 0, out, "Plan: 2 to add")
	if log := c.log(); !strings.Contains(log, "glab api --method POST projects/4/merge_requests/9/notes") || !strings.Contains(log, "### kubewright: Plan: 2 to add") {
		t.Fatalf("the comment is %s", log)
	}
	if junit := c.artifacts["plan.xml"]; !strings.Contains(string(junit), `failures="0"`) {
		t.Fatalf("the report of the merge request is %s", junit)
	}
	c.widget(2, 0, 0)
	code, out = c.pipeline("push", "main")
	c.want("a push", code, 0, out, "Apply complete! Resources: 2 added")
	code, out = c.pipeline("schedule", "main")
	c.want("a quiet night", code, 0, out, "No changes.")

	c.edit("maxPods = 110", "maxPods = 120")
	c.replacedBy("kubewright plan -destroy -input=false -out=plan.kwplan")
	code, out = c.pipeline("push", "main")
	c.want("another plan in the place of the artifact", code, 1, out, "Another plan was approved")
	c.replaced = nil
	code, out = c.pipeline("schedule", "main")
	c.want("a night after a merge", code, 2, out, "2 to change")
	code, out = c.pipeline("merge_request_event", "")
	c.want("another merge request", code, 0, out)
	c.widget(0, 2, 0)
	c.values["DIGEST"] = digestIn(t, c.log())
	code, out = c.pipeline("web", "main")
	c.want("the digest", code, 0, out, "Apply complete!")

	c.byHand("192.0.2.10 yaml /var/lib/kubelet/config.yaml set maxPods=50")
	code, out = c.pipeline("schedule", "main")
	c.want("a night", code, 3, out)
	if junit := string(c.artifacts["drift.xml"]); !strings.Contains(junit, `<failure type="drift"`) || !strings.Contains(junit, "maxPods") {
		t.Fatalf("the report of the night is %s", junit)
	}
	c.byHand("192.0.2.10 time 8232h")
	code, out = c.pipeline("schedule", "main")
	c.want("a night in which certificates are due", code, 7, out, "11 certificates to renew within 25 days")
	c.allRan()
	dir := c.checkout()
	code, out = c.shell(dir, "kubewright plan -destroy -input=false -out=plan.kwplan\n"+c.countingLine(), c.desk)
	c.want("a plan that removes everything", code, 0, out, "2 to destroy")
	c.upload("plan.json", filepath.Join(dir, "plan.json"))
	c.widget(0, 0, 2)
}

// widget checks the counts that GitLab shows in a merge request, which its parser reads from
// the report (lib/gitlab/ci/parsers/terraform/tfplan.rb): three keys with a whole number each.
func (c *gitlab) widget(create, update, remove int) {
	c.t.Helper()
	reports := c.jobs()["plan"]["artifacts"].(map[string]any)["reports"].(map[string]any)
	var got map[string]int
	want := map[string]int{"create": create, "update": update, "delete": remove}
	if err := json.Unmarshal(c.artifacts[reports["terraform"].(string)], &got); err != nil || !maps.Equal(got, want) {
		c.t.Fatalf("the widget gets %v, want %v: %v", got, want, err)
	}
}

// gitlab runs pipelines as GitLab does, on a runner with bash.
type gitlab struct{ *ci }

// serve keeps the state as GitLab does.
func (c *gitlab) serve() {
	c.t.Helper()
	c.secret = "canary-of-the-job"
	s := &httptestserver.Server{GitLab: true, Path: "/api/v4/projects/4/terraform/state/prod", User: "gitlab-ci-token", Password: c.secret}
	s.Start(c.t)
	base := strings.TrimSuffix(s.URL, s.Path)
	c.values["CI_API_V4_URL"], c.values["CI_JOB_TOKEN"] = base+"/api/v4", c.secret
	c.desk = map[string]string{"KUBEWRIGHT_HTTP_ADDRESS": base + s.Path, "KUBEWRIGHT_HTTP_USERNAME": s.User, "KUBEWRIGHT_HTTP_PASSWORD": s.Password}
}

const gitlabFile = ".gitlab-ci.yml"

var jqProgram = regexp.MustCompile(`kubewright show -json plan.kwplan \| jq '([^']+)'`)

// countingLine returns the line of the pipeline that counts for the widget, with the same
// program as on docs/reference/plan-formats.md.
func (c *gitlab) countingLine() string {
	c.t.Helper()
	page, err := os.ReadFile(filepath.Join(examples, "..", "docs", "reference", "plan-formats.md"))
	if err != nil {
		c.t.Fatal(err)
	}
	there := jqProgram.FindStringSubmatch(string(page))
	for _, line := range c.jobs()["plan"]["script"].([]any) {
		if here := jqProgram.FindStringSubmatch(line.(string)); here != nil && there != nil && here[1] == there[1] {
			return line.(string)
		}
	}
	c.t.Fatalf("docs/reference/plan-formats.md counts with %q, and docs/how-to/ci.md otherwise", there)
	return ""
}

func (c *gitlab) listSteps() {
	c.values = map[string]string{"CI_PROJECT_ID": "4", "CI_MERGE_REQUEST_IID": "9", "CI_DEFAULT_BRANCH": "main", "DIGEST": ""}
	for name, j := range c.jobs() {
		for i := range j["script"].([]any) {
			c.left[fmt.Sprintf("%s: %s: line %d", gitlabFile, name, i+1)] = true
		}
	}
}

// jobs returns all top-level keys except GitLab's reserved ones.
func (c *gitlab) jobs() map[string]map[string]any {
	out := map[string]map[string]any{}
	for name, j := range c.files[gitlabFile] {
		if !slices.Contains([]string{"stages", "variables", "default"}, name) {
			out[name] = j.(map[string]any)
		}
	}
	return out
}

// pipeline runs the jobs of an event until one fails; manual ones run as if they had been
// approved.
func (c *gitlab) pipeline(event, branch string) (int, string) {
	c.t.Helper()
	c.values["CI_PIPELINE_SOURCE"], c.values["CI_COMMIT_BRANCH"] = event, branch
	jobs := c.jobs()
	for name, j := range jobs {
		if !slices.ContainsFunc(j["rules"].([]any), func(r any) bool { return c.rule(r.(map[string]any)["if"].(string)) }) {
			delete(jobs, name)
		}
	}
	if len(jobs) == 0 {
		c.t.Fatalf("no job for %s", event)
	}
	said := ""
	for len(jobs) > 0 {
		for _, name := range slices.Sorted(maps.Keys(jobs)) {
			if needs, ok := jobs[name]["needs"].([]any); ok && jobs[needs[0].(string)] != nil {
				continue
			}
			code, out := c.job(name, jobs[name])
			said += out
			delete(jobs, name)
			if code != 0 {
				return code, said
			}
		}
	}
	return 0, said
}

func (c *gitlab) job(name string, j map[string]any) (int, string) {
	c.t.Helper()
	dir := c.checkout()
	if j["needs"] != nil {
		for artifact := range c.artifacts {
			c.download(artifact, filepath.Join(dir, artifact))
		}
	}
	env := maps.Clone(c.values)
	for line := range strings.Lines(string(c.artifacts["plan.env"])) { // variables from the dotenv report of the needed job
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && j["needs"] != nil {
			env[name] = value
		}
	}
	for k, v := range c.files[gitlabFile]["variables"].(map[string]any) {
		env[k] = os.Expand(v.(string), func(name string) string {
			if _, known := c.values[name]; !known {
				c.t.Fatalf("what is $%s?", name)
			}
			return c.values[name]
		})
	}
	var lines []string
	for i, line := range j["script"].([]any) {
		delete(c.left, fmt.Sprintf("%s: %s: line %d", gitlabFile, name, i+1))
		lines = append(lines, line.(string))
	}
	code, out := c.shell(dir, strings.Join(lines, "\n"), env)
	if artifacts, ok := j["artifacts"].(map[string]any); ok && (code == 0 || artifacts["when"] == "always") {
		paths, _ := artifacts["paths"].([]any)
		for _, report := range artifacts["reports"].(map[string]any) {
			paths = append(slices.Clip(paths), report)
		}
		for _, p := range paths {
			c.upload(p.(string), filepath.Join(dir, p.(string)))
		}
	}
	return code, out
}

// rule evaluates a rule of the page: comparisons, all of which must hold.
func (c *gitlab) rule(text string) bool {
	c.t.Helper()
	value := func(x string) string {
		if name, ok := strings.CutPrefix(x, "$"); ok {
			v, known := c.values[name]
			if !known {
				c.t.Fatalf("what is %s?", x)
			}
			return v
		}
		return strings.Trim(x, `"`)
	}
	for part := range strings.SplitSeq(text, " && ") {
		a, b, compared := strings.Cut(part, " == ")
		switch {
		case compared && value(a) != value(b), !compared && value(a) == "":
			return false
		}
	}
	return true
}
