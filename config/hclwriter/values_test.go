package hclconfig_test

import (
	"testing"

	"github.com/kubewright/kubewright/config/hclconfig"
)

func TestValuesFileHasEveryVariable(t *testing.T) {
	t.Parallel()
	got, diags := hclconfig.ValuesFile("main.hcl", []byte(`
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
	if string(got) != want || diags.HasErrors() {
		t.Errorf("%s\n%s", got, diags)
	}
}

func TestValuesFileWithoutVariables(t *testing.T) {
	t.Parallel()
	if got, diags := hclconfig.ValuesFile("main.hcl", []byte("locals { a = 1 }\n")); got != nil || len(diags) > 0 {
		t.Errorf("a file without variables: %q %s", got, diags)
	}
	got, diags := hclconfig.ValuesFile("main.hcl", []byte("variable \"a\" {\n"))
	if got != nil || !diags.HasErrors() || diags[0].Subject.File != "main.hcl" {
		t.Errorf("a file with a mistake: %q %s", got, diags)
	}
}
