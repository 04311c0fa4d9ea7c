package app

import (
	"net/http"
)

// handler returns what the process serves.
func (a *App) handler() (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		a.probe(w, a.ctx.Err() == nil)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		a.probe(w, a.isReady())
	})
	return mux, nil
}

// isReady reports whether the process does what it is for.
func (a *App) isReady() bool {
	select {
	case <-a.ready:
	default:
		return false
	}
	return a.ctx.Err() == nil && a.conn.IsConnected()
}

func (a *App) probe(w http.ResponseWriter, ok bool) {
	if !ok {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	if _, err := w.Write([]byte("ok\n")); err != nil {
		a.logger.Debug("probe not answered", "err", err)
	}
}
