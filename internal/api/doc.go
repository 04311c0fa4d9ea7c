// Package api is the gateway: the HTTP API, and plain pages of the same views
// for a browser.
//
// It decides nothing about a run. What people ask is handed to the intake,
// what they read are views and recorded events, and a document is opened from
// the chain that holds it. One table of routes is both what is served and what
// the OpenAPI document describes.
package api
