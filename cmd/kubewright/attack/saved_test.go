package attack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// calm is a policy that refuses every destroy.
const calm = "\npolicy \"calm\" {\n  max_destroys = 0\n}\n"

// forged returns an attack that changes a saved plan and recomputes its checksum. It holds if
// apply refuses the file, and neither state nor hosts change.
func forged(name string, change func(a *arena, saved, plan map[string]any)) attack {
	return attack{name: name, run: func(a *arena) {
		a.quickstart()
		a.write("main.hcl", strings.Replace(a.read("main.hcl"), "    w2 = \"10.77.0.22\"\n", "", 1)+calm)
		if o := a.kubewright("plan", "-override-policy=calm", "-out=p.kwplan"); o.code != 0 {
			a.Fatalf("exit code %d\n%s", o.code, o.stderr)
		}
		var file map[string]any
		a.must(json.Unmarshal([]byte(a.read("p.kwplan")), &file))
		saved := file["saved"].(map[string]any)
		change(a, saved, saved["plan"].(map[string]any))
		b, err := json.Marshal(saved)
		a.must(err)
		sum := sha256.Sum256(b)
		file["sha256"] = hex.EncodeToString(sum[:])
		whole, err := json.Marshal(file)
		a.must(err)
		a.write("p.kwplan", string(whole))
		state, hosts := a.read(stateFile), a.read(simFile)
		for _, flags := range [][]string{nil, {"-override-policy=calm", "-auto-approve"}} {
			args := append(append([]string{"apply"}, flags...), "p.kwplan")
			a.refused(a.kubewright(args...))
		}
		if a.read(stateFile) != state || a.read(simFile) != hosts {
			a.Error("the forged plan changed something")
		}
	}}
}

func savedAttacks() []attack {
	return []attack{
		forged("policies overridden", func(_ *arena, _, plan map[string]any) { plan["overridden_policies"] = []string{"calm", "production"} }),
		long(forged("no digest of the configuration", func(_ *arena, _, plan map[string]any) { plan["config_digest"] = "" })),
		long(forged("unreachable hosts allowed", func(_ *arena, saved, _ map[string]any) { saved["allow_unreachable"] = true })),
		long(forged("destroy", func(_ *arena, _, plan map[string]any) { plan["destroy"] = true })),
		long(forged("no changes left", func(_ *arena, _, plan map[string]any) { plan["changes"] = []any{} })),
		long(forged("a plan of destroy in its place", func(a *arena, saved, plan map[string]any) {
			if o := a.kubewright("plan", "-destroy", "-override-policy=calm", "-out=d.kwplan"); o.code != 0 {
				a.Fatalf("exit code %d\n%s", o.code, o.stderr)
			}
			var other map[string]any
			a.must(json.Unmarshal([]byte(a.read("d.kwplan")), &other))
			clear(plan)
			for k, v := range other["saved"].(map[string]any)["plan"].(map[string]any) {
				plan[k] = v
			}
			plan["config_digest"] = ""
			saved["forged"] = true
		})),
		long(withoutKey("no authentication code")),
	}
}

// withoutKey returns an attack by a saved plan without its authentication code.
func withoutKey(name string) attack {
	return attack{name: name, run: func(a *arena) {
		a.quickstart()
		a.write("main.hcl", strings.Replace(a.read("main.hcl"), "    w2 = \"10.77.0.22\"\n", "", 1))
		a.kubewright("plan", "-out=p.kwplan")
		var file map[string]json.RawMessage
		a.must(json.Unmarshal([]byte(a.read("p.kwplan")), &file))
		delete(file, "mac")
		b, err := json.Marshal(file)
		a.must(err)
		a.write("p.kwplan", string(b))
		hosts := a.read(simFile)
		a.refused(a.kubewright("apply", "p.kwplan"))
		if a.read(simFile) != hosts {
			a.Error("a plan without authentication code changed something")
		}
	}}
}
