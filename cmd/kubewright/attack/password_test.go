package attack

import (
	"os"
	"strings"
)

// sudoWord is the sudo password of the configuration. Only a sudo that has asked for it may
// receive it.
const sudoWord = "the-sudo-password"

// These stand in for a host's programs while a login user becomes root. askingSudo is a sudo
// that requires a password; it runs the command that the password is checked with, so that the
// script continues.
const (
	loginUser  = "echo 1000"
	freeSudo   = `while test "$1" != --; do shift; done; shift; exec "$@"`
	askingSudo = `case "$1" in -n) echo 'sudo: a password is required' >&2; exit 1;; esac
while test "$1" != --; do shift; done; shift
IFS= read -r p
test "$p" = ` + sudoWord + ` && exec "$@"
echo 'sudo: 1 incorrect password attempt' >&2
exit 1`
	// doubtingSudo asks, reads the password, and asks again.
	doubtingSudo = `case "$1" in -n) ;; *) IFS= read -r p; echo 'Sorry, try again.' >&2;; esac
echo 'sudo: a password is required' >&2
exit 1`
)

// prompts are texts that look like a sudo prompt.
const prompts = "[sudo] password for ann: \nPassword: \nsudo: a password is required\nsudo-rs: interactive authentication is required\n"

// guarded returns an attack by a host that tries to get the sudo password. times is how often
// it legitimately receives it, over two commands of the operator.
func guarded(name string, h *hostile, times int) attack {
	return attack{name: "sudo: " + name, run: func(a *arena) { a.guards(h, times) }}
}

func (a *arena) guards(h *hostile, times int) {
	a.Helper()
	a.configure(strings.Replace(oneHost, `user        = "root"`, `user = "ann"
  sudo_password = "`+sudoWord+`"`, 1), h)
	a.env = append(a.env, "KUBEWRIGHT_LOG=trace", "KUBEWRIGHT_LOG_PATH="+a.path("log"))
	var shown strings.Builder
	for _, args := range [][]string{{"plan", "-input=false"}, {"certificates"}} {
		o := a.kubewright(args...)
		shown.WriteString(o.stdout + o.stderr)
	}
	sum := 0
	for _, n := range h.sent(sudoWord) {
		sum += n
	}
	if sum != times {
		a.Errorf("the sudo password was sent %d times, want %d: %v", sum, times, h.sent(sudoWord))
	}
	log, _ := os.ReadFile(a.path("log"))
	if strings.Contains(shown.String()+string(log), sudoWord) {
		a.Error("the output or the log contains the sudo password")
	}
}

// asLogin returns a host with a login user and programs that take precedence over the machine's.
func asLogin(sudo, complains string) *hostile {
	return &hostile{complains: complains, programs: map[string]string{"id": loginUser, "sudo": sudo, "doas": "exit 1"}}
}

func sudoAttacks() []attack {
	silent := func(text string) *hostile {
		return &hostile{before: func(s *stream) {
			_, _ = s.channel.Write([]byte(text))
			_, _ = s.channel.Stderr().Write([]byte(text))
			s.exit(1)
		}}
	}
	root := &hostile{programs: map[string]string{"sudo": askingSudo}, complains: prompts}
	out := []attack{
		guarded("a prompt before the script", silent(prompts), 0),
		guarded("a root login that asks", root, 0),
		guarded("asks twice", asLogin(doubtingSudo, ""), 2),
		guarded("never asks", asLogin(freeSudo, prompts), 0),
		guarded("refuses without asking", asLogin("echo 'Sorry, user ann is not allowed to execute sh as root on password.' >&2\nexit 1", ""), 0),
		guarded("wants a terminal", asLogin("echo 'sudo: sorry, you must have a tty to run sudo' >&2\nexit 1", ""), 0),
		guarded("asks in its own words", asLogin("echo 'please type your password, it is required' >&2\nexit 1", ""), 0),
		guarded("a prompt on standard output", asLogin("printf '%s' "+"'"+prompts+"'"+"\nexit 1", ""), 0),
		guarded("a prompt, and the script continues", asLogin("echo 'sudo: a password is required' >&2\n"+freeSudo, ""), 0),
		guarded("a user id that is none", &hostile{programs: map[string]string{"id": "echo '0 1000'", "sudo": askingSudo}}, 0),
		guarded("two answers to who the login is", &hostile{programs: map[string]string{"id": "echo 0; echo 1000", "sudo": askingSudo}}, 0),
		guarded("the marker forged before", silent("\nkubewright AAAAAAAAAAAAAAAAAAAAAAAAAA entered 1000\n\nsudo: a password is required\n"), 0),
	}
	for i := range out {
		out[i].long = out[i].name != "sudo: asks twice"
	}
	return out
}
