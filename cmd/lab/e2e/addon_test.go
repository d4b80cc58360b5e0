//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// ofUsers is a manifest as users write it: a namespace after the objects in it, a kind after its
// object, and values that the API spells differently.
const ofUsers = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: agent, namespace: tools, creationTimestamp: null}
spec:
  replicas: 1
  paused: false
  strategy: {}
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}, creationTimestamp: null}
    spec:
      hostPID: false
      automountServiceAccountToken: false
      priorityClassName: tools
      securityContext: {}
      volumes:
      - {name: scratch, emptyDir: {sizeLimit: 1024Mi}}
      - {name: settings, configMap: {name: settings, defaultMode: 0644, items: []}}
      containers:
      - name: agent
        image: %[1]q
        imagePullPolicy: Never
        args: [serve]
        tty: false
        env: [{name: LEVEL, value: ""}, {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 0}}}]
        resources: {limits: {cpu: 1000m, memory: 65536Ki}, requests: {cpu: 0.01, memory: "64e6"}}
        ports: [{containerPort: 8080}]
        readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1, initialDelaySeconds: 0}
        volumeMounts: [{name: scratch, mountPath: /scratch, readOnly: false}]
---
apiVersion: example.org/v1
kind: Agent
metadata: {name: one, namespace: tools}
spec: {size: 1000m, off: false, level: ""}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: tools}
data: {size: 1000m, empty: ""}
---
apiVersion: v1
kind: Secret
metadata: {name: word, namespace: tools}
stringData: {word: canary-of-the-addon}
---
apiVersion: v1
kind: Service
metadata: {name: agent, namespace: tools}
spec: {selector: {app: agent}, publishNotReadyAddresses: false, ports: [{port: 80, targetPort: 8080, nodePort: 0}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed, namespace: tools}
spec: {podSelector: {}, ingress: [], policyTypes: [Ingress]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: agent, namespace: tools}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: agent}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: agent, namespace: tools}
spec:
  minReplicas: 1
  maxReplicas: 1
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: agent}
  metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 1024Mi}}}]
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: tidy, namespace: tools}
spec:
  schedule: "0 3 1 1 *"
  suspend: false
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: tidy, image: %[1]q, imagePullPolicy: Never}]}}}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: usual, namespace: tools}
spec: {limits: [{type: Container, max: {cpu: 2000m}}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: agent, namespace: tools}
rules: [{apiGroups: [""], resources: [pods], verbs: [get], resourceNames: []}]
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: tools}
value: 1000
globalDefault: false
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: agents.example.org}
webhooks:
- name: agents.example.org
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {service: {name: agent, namespace: tools, path: /}}
  rules: [{apiGroups: [example.org], apiVersions: [v1], operations: [CREATE], resources: [agents]}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: agents.example.org, creationTimestamp: null}
spec:
  group: example.org
  scope: Namespaced
  preserveUnknownFields: false
  names: {kind: Agent, plural: agents, shortNames: []}
  versions:
  - name: v1
    served: true
    storage: true
    deprecated: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, nullable: false, x-kubernetes-preserve-unknown-fields: true, properties: {size: {type: string, minLength: 0}}}}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: tools, labels: {made: by-hand}}
`

// addons applies a manifest, expects no changes, repairs drift in it, shortens it, renames the
// addon, and prunes it.
func (s *site) addons() {
	manifest := fmt.Sprintf(ofUsers, lab.WorkloadImage)
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(s.dir, "tools.yaml"), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	before := s.extra
	block := func(name string) {
		s.extra = before
		if name != "" {
			s.extra += fmt.Sprintf("  addon %q {\n    manifest = file(\"tools.yaml\")\n  }\n", name)
		}
		s.configure()
	}
	write(manifest)
	block("tools")
	r := s.must("apply", "-auto-approve", "-no-color")
	wantContains(s.t, r.out, "Plan: 1 to add, 0 to change, 0 to destroy.")
	if strings.Contains(r.out, "canary-of-the-addon") {
		s.t.Error("a Secret was shown")
	}
	s.kubectl("rollout", "status", "-n", "tools", "deployment/agent", "--timeout=10m")
	s.wantNoChanges()

	s.kubectl("label", "namespace", "tools", "made=otherwise", "--overwrite")
	s.kubectl("set", "env", "-n", "tools", "deployment/agent", "LEVEL=9")
	r = s.must("apply", "-auto-approve", "-no-color")
	wantContains(s.t, r.out, `made = "otherwise" -> "by-hand"`, `value = "9" -> ""`, "Resources: 0 added, 1 changed, 0 destroyed.")
	s.wantNoChanges()

	write(strings.Replace(manifest, "kind: CronJob", "kind: CronJob # no longer", 1))
	s.wantNoChanges()
	start := strings.Index(manifest, "apiVersion: batch/v1")
	length := strings.Index(manifest[start:], "---\n") + len("---\n")
	write(manifest[:start] + manifest[start+length:])
	r = s.must("apply", "-auto-approve", "-no-color")
	wantContains(s.t, r.out, "batch/v1/CronJob/tools/tidy", "Plan: 0 to add, 1 to change, 0 to destroy.")
	if out := s.kubectl("get", "cronjobs,deployments", "-n", "tools", "-o", "name"); out != "deployment.apps/agent" {
		s.t.Errorf("the remaining objects are %s", out)
	}

	uid := s.kubectl("get", "deployment", "-n", "tools", "agent", "-o", "jsonpath={.metadata.uid}")
	block("utilities")
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	if now := s.kubectl("get", "deployment", "-n", "tools", "agent", "-o", "jsonpath={.metadata.uid}"); now != uid {
		s.t.Error("renaming the addon recreated its objects")
	}

	block("")
	r = s.must("apply", "-auto-approve", "-no-color")
	wantContains(s.t, r.out, "Plan: 0 to add, 0 to change, 1 to destroy.", "the namespace tools with everything in it")
	if strings.Contains(r.out, "differ from the configuration") {
		s.t.Error("apply ended before the addon was gone")
	}
	if out := s.kubectl("get", "namespace/tools", "crd/agents.example.org", "priorityclass/tools", "validatingwebhookconfiguration/agents.example.org", "--ignore-not-found", "-o", "name"); out != "" {
		s.t.Errorf("the remaining objects are %s", out)
	}
	s.wantNoChanges()
}
