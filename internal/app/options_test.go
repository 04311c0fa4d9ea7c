package app_test

import (
	"log/slog"
	"testing"

	"example.org/mandate/internal/app"
)

func TestAddressesAreChecked(t *testing.T) {
	for address, valid := range map[string]bool{"": true, "127.0.0.1:0": true, "localhost:7420": true, ":7420": true, "[::1]:7420": true, "1.2.3": false, "::1:7420": false} {
		for _, set := range []func(*app.Options){
			func(o *app.Options) { o.HTTPListen = address },
			func(o *app.Options) { o.NATSListen = address },
		} {
			o := app.DefaultOptions()
			o.DataDir, o.Logger = t.TempDir(), slog.New(slog.DiscardHandler)
			set(&o)
			if err := o.Validate(); (err == nil) != valid {
				t.Errorf("Validate with the address %q: %v", address, err)
			}
		}
	}
}
