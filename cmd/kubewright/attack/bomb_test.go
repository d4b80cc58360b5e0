package attack

import (
	"fmt"
	"strings"
)

// simulated is a cluster of one simulated node.
const simulated = `cluster "demo" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "api.demo.example.com:6443"
  network {
    pod_subnet = "10.244.0.0/16"
  }
}

connection {
  type = "sim"
}

node "cp" {
  cluster = cluster.demo
  role    = "control-plane"
  name    = "cp"
  address = "10.77.0.11"
}
`

// value returns a configuration that evaluates an expression.
func value(expression string) string {
	return simulated + "output \"o\" {\n  value = " + expression + "\n}\n"
}

// doubling returns locals, each of which uses the previous one twice.
func doubling(n int, first, form string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%slocals {\n  a0 = %s\n", simulated, first)
	for i := range n {
		before := fmt.Sprintf("local.a%d", i)
		fmt.Fprintf(&b, "  a%d = %s\n", i+1, strings.ReplaceAll(form, "X", before))
	}
	fmt.Fprintf(&b, "}\noutput \"o\" {\n  value = length(local.a%d)\n}\n", n)
	return b.String()
}

// bomb returns an attack by a small configuration that needs more than a machine has. It holds
// if plan ends in time, whether it accepts the configuration or not.
func bomb(name, text string) attack {
	return attack{name: name, run: func(a *arena) {
		a.write("main.hcl", text)
		o := a.kubewright("plan", "-input=false")
		if o.code == 1 && !strings.Contains(o.stderr, "Error: ") {
			a.Errorf("no error\n%s", clip(o.stderr))
		}
	}}
}

func bombAttacks() []attack {
	const thousand = "range(1000)"
	nested := "[for a in " + thousand + " : [for b in " + thousand + " : [for c in " + thousand + " : a]]]"
	quick := []attack{
		bomb("text doubled 60 times", doubling(60, `"aaaaaaaa"`, `"${X}${X}"`)),
		bomb("list doubled 60 times", doubling(60, `["a"]`, "concat(X, X)")),
		bomb("list in list 60 times", doubling(60, `["a"]`, "[X, X]")),
		bomb("parentheses 100,000 deep", value(strings.Repeat("(", 100_000)+"1"+strings.Repeat(")", 100_000))),
		bomb("setproduct of 1000 by 1000 by 1000", value("length(setproduct("+thousand+", "+thousand+", "+thousand+"))")),
	}
	rest := []attack{
		bomb("for in for in for", value("length("+nested+")")),
		bomb("loops in a template", value(`length("%{for a in range(1000)}%{for b in range(1000)}%{for c in range(1000)}x%{endfor}%{endfor}%{endfor}")`)),
		bomb("replaced by more", simulated+"locals {\n  s = join(\"\", [for i in range(1000) : \"aaaaaaaaaa\"])\n  t = replace(local.s, \"a\", local.s)\n}\noutput \"o\" {\n  value = length(replace(local.t, \"a\", local.s))\n}\n"),
		bomb("indented by a billion", value(`length(indent(1000000000, "a\nb"))`)),
		bomb("range of a billion", value("length(range(1000000000))")),
		bomb("format of a width of a billion", value(`length(format("%1000000000d", 1))`)),
		bomb("number with a billion digits", value("1e1000000000")),
		bomb("power", value("pow(10, 1000000000)")),
		bomb("regular expression with repetitions", value(`regex("((((a{1,1000}){1,1000}){1,1000}){1,1000})", "a")`)),
		bomb("regular expression that backtracks", value(`regex("^(a+)+$", join("", [for i in range(1000) : "aaaaaaaaab"]))`)),
		bomb("aliases in YAML", value(`length(yamldecode("a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n"))`)),
		bomb("JSON 100,000 deep", value(`length(jsondecode("`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+`"))`)),
		bomb("brackets 100,000 deep", value(strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000))),
		bomb("blocks 100,000 deep", simulated+strings.Repeat("a {\n", 100_000)+strings.Repeat("}\n", 100_000)),
		bomb("templates 10,000 deep", value(strings.Repeat(`"${`, 10_000)+"1"+strings.Repeat(`}"`, 10_000))),
		bomb("operators 100,000 long", value("1"+strings.Repeat("+1", 100_000))),
		bomb("half a million nodes", strings.Replace(simulated, "  cluster = cluster.demo\n", "  count = 500000\n  cluster = cluster.demo\n", 1)),
		bomb("half a million nodes for each", strings.Replace(simulated, "  cluster = cluster.demo\n", "  for_each = toset([for i in range(500000) : tostring(i)])\n  cluster = cluster.demo\n", 1)),
		bomb("cycle", simulated+"locals {\n  a = local.b\n  b = local.a\n}\n"),
		bomb("file of 20 MB", simulated+"# "+strings.Repeat("x", 20<<20)+"\n"),
	}
	for i := range rest {
		rest[i].long = true
	}
	return append(quick, rest...)
}
