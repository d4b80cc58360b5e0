package hclwriter_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/hclwriter"
)

func TestValuesHasEveryVariable(t *testing.T) {
	t.Parallel()
	got, err := hclwriter.Values("main.hcl", []byte(`
variable "simulate" {
  description = "Simulate the hosts."
  type = bool
  default = true
}

locals { a = 1 }

variable "planes" {
  description = <<-EOT
    Two
    lines.
  EOT
  default = {
    cp1 = "10.0.0.1"
      cp22 = "10.0.0.2" # the second
  }
  validation {
    condition = true
    error_message = "Never."
  }
}

variable "key" {
  sensitive = true
  default = "hush"
}

variable "endpoint" {
  type = string
}
`))
	const want = `# Values of the variables that main.hcl declares, instead of their defaults there.

# Simulate the hosts.
simulate = true

# Two
# lines.
planes = {
  cp1  = "10.0.0.1"
  cp22 = "10.0.0.2" # the second
}

# Give it as KUBEWRIGHT_VAR_key, or with -var-file in a file outside of the repository.
# key = …

# Give it as KUBEWRIGHT_VAR_endpoint, or with -var-file in a file outside of the repository.
# endpoint = …
`
	if string(got) != want || err != nil {
		t.Errorf("%s\n%v", got, err)
	}
}

func TestValuesWithoutVariables(t *testing.T) {
	t.Parallel()
	if got, err := hclwriter.Values("main.hcl", []byte("locals { a = 1 }\n")); got != nil || err != nil {
		t.Errorf("a file without variables: %q %v", got, err)
	}
	got, err := hclwriter.Values("main.hcl", []byte("variable \"a\" {\n"))
	if got != nil || err == nil || !strings.Contains(err.Error(), "main.hcl:1") {
		t.Errorf("a file with a mistake: %q %v", got, err)
	}
}
