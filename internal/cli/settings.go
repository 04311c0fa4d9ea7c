package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.org/mandate/internal/cli/manifest"
)

// settings fills flags that were not given: from MANDATE_* variables, then
// from the file that --config names.
func (c *cli) settings(command *cobra.Command) error {
	var failed error
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		value, set := c.Environment(environmentName(flag.Name))
		if flag.Changed || !set || flag.Name == "help" || failed != nil {
			return
		}
		if err := command.Flags().Set(flag.Name, value); err != nil {
			failed = configuration(environmentName(flag.Name)+": "+err.Error(), "correct the variable")
		}
	})
	if failed != nil {
		return failed
	}
	config := command.Flags().Lookup("config")
	if config == nil || config.Value.String() == "" {
		return nil
	}
	name := config.Value.String()
	data, err := c.readFile(name, manifest.MaxBytes)
	if err != nil {
		return err
	}
	settings, err := manifest.ParseSettings(name, data)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		setting := settings[key]
		flag := command.Flags().Lookup(key)
		if flag == nil || key == "config" || key == "help" {
			return &manifest.Error{Source: name, Line: setting.Line, Message: fmt.Sprintf("unknown setting %.40q", key), Action: "see mandate up --help for the names"}
		}
		if flag.Changed {
			continue
		}
		if err := command.Flags().Set(key, setting.Value); err != nil {
			return &manifest.Error{Source: name, Line: setting.Line, Message: err.Error(), Action: "correct the value"}
		}
	}
	return nil
}
