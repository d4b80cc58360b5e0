package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/listing"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/spf13/cobra"
)

func schemaCommand(a *workspace.Workspace) *cobra.Command {
	var asJSON, jsonSchema bool
	cmd := &cobra.Command{
		Use: "schema [PATH]", Short: "Say what can be written in the configuration", Args: takes(0, 1),
		Long: "schema lists the blocks of the language, or what stands in one of them, or what one attribute means:\n" +
			"its type, its default, and what a change of it costs a cluster that runs. PATH is cluster.network or\n" +
			"cluster.network.pod_subnet. Nothing is read or contacted.\n\n" +
			"-json prints all of it, with the functions of expressions, for programs. -json-schema prints a JSON\n" +
			"Schema of *.hcl.json files, for editors and for programs that write such files.",
		Example: "  kubewright schema\n  kubewright schema cluster.network\n  kubewright schema node.address\n" +
			"  kubewright schema -json | jq -r '.blocks[].name'\n  kubewright schema -json-schema > config.schema.json",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return schemaPaths(hclconfig.Schema(), ""), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case asJSON && jsonSchema:
				return console.Misuse(cmd.CommandPath(), errors.New("-json and -json-schema both say what to print: give one of them"))
			case (asJSON || jsonSchema) && len(args) > 0:
				return console.Misuse(cmd.CommandPath(), fmt.Errorf("-json and -json-schema print the whole language: leave out %q", args[0]))
			case asJSON:
				return a.PrintJSON(hclconfig.SchemaJSON())
			case jsonSchema:
				return a.PrintJSON(hclconfig.JSONSchema())
			}
			return schema(a, cmd, append(args, "")[0])
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the whole language as JSON")
	cmd.Flags().BoolVar(&jsonSchema, "json-schema", false, "print a JSON Schema of *.hcl.json files")
	return cmd
}

// schema prints the row of the schema table at a path, or the whole schema if the path is
// empty.
func schema(a *workspace.Workspace, cmd *cobra.Command, path string) error {
	row, rest := hclconfig.Schema(), path
	for rest != "" {
		name, below, _ := strings.Cut(rest, ".")
		for i := range row.Attributes {
			if row.Attributes[i].Name == name && below == "" {
				return listing.SchemaAttribute(a.Stdout, path, &row.Attributes[i], a.Options())
			}
		}
		next := blockOf(row, name)
		if next == nil {
			return console.Misuse(cmd.CommandPath(), fmt.Errorf("the language has no %s.%s", path, console.DidYouMean("", path, schemaPaths(hclconfig.Schema(), ""))))
		}
		row, rest = next, below
	}
	return listing.Schema(a.Stdout, path, row, a.Options())
}

func blockOf(row *hclconfig.Block, name string) *hclconfig.Block {
	for _, b := range slices.Concat(row.Blocks, row.Variants) {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// schemaPaths returns the paths of all blocks and attributes.
func schemaPaths(row *hclconfig.Block, prefix string) []string {
	var out []string
	for i := range row.Attributes {
		out = append(out, prefix+row.Attributes[i].Name)
	}
	for _, b := range slices.Concat(row.Blocks, row.Variants) {
		out = append(out, prefix+b.Name)
		out = append(out, schemaPaths(b, prefix+b.Name+".")...)
	}
	return out
}
