package hostrules

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// unitSections are the kinds of units that a configuration may have, with the section that a unit
// file of the kind needs: systemd.service(5) and its siblings.
var unitSections = map[string]string{
	".service": "Service", ".timer": "Timer", ".socket": "Socket", ".path": "Path", ".mount": "Mount", ".automount": "Automount", ".target": "",
}

var unitName = regexp.MustCompile(`^[A-Za-z0-9:_.-]+(@[A-Za-z0-9:_.-]*)?\.[a-z]+$`)

// CheckUnitName refuses what cannot be the name of a unit.
func CheckUnitName(name string) error {
	_, known := unitSections[path.Ext(name)]
	switch {
	case path.Ext(name) == ".swap":
		return fmt.Errorf("kubewright turns swap off, unless the kubelet is configured to run with it")
	case !known:
		return fmt.Errorf("%q does not end with the kind of a unit: .service, .timer, .socket, .path, .mount, .automount or .target", name)
	case !unitName.MatchString(name) || len(name) > 255 || strings.HasPrefix(name, "-"):
		return fmt.Errorf("%q is no name of a unit: letters, digits and :_.-, with an @ before the name of an instance", name)
	}
	return nil
}

// IsTemplate reports whether a unit is a template, which only its instances start.
func IsTemplate(name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(name, path.Ext(name)), "@")
}

// allowed are units of systemd that nothing else on a host depends on.
var allowed = []string{"systemd-timesyncd.service", "systemd-oomd.service", "systemd-journal-upload.service", "systemd-journal-remote.service"}

// foreignUnits are units that a configuration does not have, by regular expression, and why. They are
// compiled where a unit is checked: most configurations have none.
var foreignUnits = []struct {
	pattern, why string
}{
	{`^(containerd|crio|cri-o|docker|cri-docker)\.(service|socket)$`, "it is the container runtime, or starts it, and pods of every node would be without it at once. Its settings are in its own file"},
	{`^(etcd|kube-(apiserver|controller-manager|scheduler|proxy))\.service$`, "kubewright runs it as a pod"},
	{`^sshd?(@.*)?\.(service|socket)$`, "kubewright reaches the host through it, and a mistake would cut it off"},
	{`^(dbus|dbus-broker)\.(service|socket)$`, "systemd and logins depend on it, and a restart would cut them off"},
	{`^(NetworkManager.*|networking|network|wicked.*|netplan-.*|cloud-init.*|cloud-final|cloud-config|ifup@.*)\.service$`, "it sets up the network, and a mistake would cut the host off"},
	{`^(systemd-.*|user@.*|user-runtime-dir@.*|getty@.*|emergency|rescue|initrd-.*)\.(service|socket|timer|path|mount|automount)$`, "it belongs to systemd, and the host does not boot or log in without it"},
	{`^(etc|usr|usr-.*|boot|boot-.*|var|var-lib|home|root|run|run-.*|tmp|proc|proc-.*|sys|sys-.*|dev|dev-.*)\.(mount|automount)$`, "it holds the operating system, and is mounted by what boots the host"},
	{
		`^(default|multi-user|graphical|basic|sysinit|local-fs|local-fs-pre|remote-fs|network|network-pre|network-online|rescue|emergency|reboot|poweroff|halt|kexec|shutdown|umount|final|exit|ctrl-alt-del|swap|sockets|timers|paths|suspend|hibernate|sleep|hybrid-sleep)\.target$`,
		"it belongs to systemd, and its start may stop everything else",
	},
}

// ForeignUnit returns why a configuration cannot have a unit; "" if it can.
func ForeignUnit(name string) string {
	if slices.Contains(allowed, name) {
		return ""
	}
	for _, f := range foreignUnits {
		if regexp.MustCompile(f.pattern).MatchString(name) {
			return f.why
		}
	}
	return ""
}

// unitFile is the content of a unit file or a drop-in: its sections, and the assignments in each.
type unitFile map[string]map[string]string

// assignment is a line KEY=VALUE of a unit file.
type assignment struct{ section, key, value string }

// assignments returns the assignments of a valid unit file in their order, each on one line.
func assignments(content string) []assignment {
	var out []assignment
	_, _ = parseUnit(strings.ReplaceAll(content, "\\\n", " "), func(a assignment) { out = append(out, a) })
	return out
}

// parseUnit parses a unit file as far as it is checked, and calls a function for each assignment:
// systemd.syntax(7).
func parseUnit(content string, each func(assignment)) (unitFile, error) {
	if strings.Contains(content, "\x00") || !utf8.ValidString(content) {
		return nil, fmt.Errorf("it holds a zero byte or no UTF-8, and a plan shows it as text")
	}
	out, section, continued := unitFile{}, "", false
	n := 0
	for line := range strings.Lines(content) {
		n++
		line = strings.TrimSpace(line)
		switch key, value, assigned := strings.Cut(line, "="); {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case continued:
		case line[0] == '[' && line[len(line)-1] == ']':
			section = line[1 : len(line)-1]
			if out[section] == nil {
				out[section] = map[string]string{}
			}
		case section == "":
			return nil, fmt.Errorf("line %d is before the first section: a unit file begins with one, such as [Unit]", n)
		case !assigned:
			return nil, fmt.Errorf("line %d is neither a section nor KEY=VALUE", n)
		default:
			a := assignment{section, strings.TrimSpace(key), strings.TrimSpace(value)}
			out[section][a.key] = a.value
			each(a)
		}
		continued = strings.HasSuffix(line, `\`)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("it has no section, such as [Unit]")
	}
	return out, nil
}

// units is the folder of the units and drop-ins of a configuration.
const units = "/etc/systemd/system/"

// DropInPath returns the path of a drop-in.
func DropInPath(unit, name string) string { return units + unit + ".d/" + name + ".conf" }

// CheckDropIn refuses a drop-in that systemd would not read.
func CheckDropIn(content string) error {
	if _, err := parseUnit(content, func(assignment) {}); err != nil {
		return err
	}
	return takes(content)
}

// takes returns why a unit file, or a drop-in, would stop or replace a unit that a configuration cannot have.
func takes(content string) error {
	for _, a := range assignments(content) {
		if !slices.Contains([]string{"Install Alias", "Unit Conflicts"}, a.section+" "+a.key) {
			continue
		}
		for _, name := range strings.Fields(a.value) {
			if ComponentOf(name) != "" || ForeignUnit(name) != "" {
				return fmt.Errorf("%s=%s would stop or replace %s, which a configuration cannot have as a unit. Take it out", a.key, name, name)
			}
		}
	}
	return nil
}

// CheckUnitFile refuses a unit file that systemd would not load, or whose unit could not be as it is
// wanted: enabled, or running.
func CheckUnitFile(name, content string, enabled, running bool) error {
	u, err := parseUnit(content, func(assignment) {})
	if err == nil {
		err = takes(content)
	}
	if err != nil {
		return err
	}
	if need := unitSections[path.Ext(name)]; need != "" && u[need] == nil {
		return fmt.Errorf("it has no section [%s]", need)
	}
	remains := slices.Contains([]string{"yes", "true", "on", "1"}, strings.ToLower(u["Service"]["RemainAfterExit"]))
	switch {
	case enabled && u["Install"] == nil:
		return fmt.Errorf("enabled = true, and it has no section [Install] that says what starts it at boot, as in WantedBy=multi-user.target")
	case running && u["Service"]["Type"] == "oneshot" && !remains:
		return fmt.Errorf("running = true, and with Type=oneshot it ends as soon as it has run: add RemainAfterExit=yes, or have a timer start it and leave running out")
	}
	if where := u["Mount"]["Where"] + u["Automount"]["Where"]; where != "" {
		if want := strings.ReplaceAll(strings.Trim(where, "/"), "/", "-") + path.Ext(name); want != name {
			return fmt.Errorf("the unit of Where=%s is called %s", where, want)
		}
	}
	return nil
}

// dropInName is the name of a drop-in.
var dropInName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// IsDropInName reports whether a drop-in can have a name, without .conf.
func IsDropInName(name string) bool {
	return len(name) <= 200 && dropInName.MatchString(name) && !strings.HasSuffix(name, ".conf")
}
