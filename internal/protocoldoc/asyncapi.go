package protocoldoc

import (
	"fmt"
	"slices"

	"example.org/mandate/events"
)

// The documents that others refer to.
const (
	AsyncAPIFile   = "docs/protocol/asyncapi.json"
	CodesFile      = "docs/codes.md"
	schemaDir      = "docs/protocol/schemas/"
	asyncAPI       = "3.1.0"
	protocolText   = "One message is a commit: the events of one decision about one run, as canonical msgpack, with the headers described here. The messages below are its events in the JSON format of CloudEvents 1.0. Private content is named by its commitment only."
	channelAddress = "mandate.v1.%s.{partition}.{tenant}.{run}"
)

// channelTitles says what each owner decides.
func channelTitles() map[events.Owner]string {
	return map[events.Owner]string{
		events.OwnerRequest:     "What people and programs asked for",
		events.OwnerRegistry:    "What is registered: agents, policies, capabilities, packages and routes",
		events.OwnerAdmission:   "What may run, under which bounds and on whose word",
		events.OwnerInterpreter: "What was proposed, and which model was asked",
		events.OwnerExecutor:    "What was dispatched, and what came of it",
		events.OwnerEvaluator:   "What was found true, and how runs ended",
		events.OwnerPresenter:   "What was shown",
	}
}

// asyncAPIDocument describes the streams.
func (s *source) asyncAPIDocument() object {
	channels, operations, messages := object{}, object{}, object{}
	for _, owner := range events.Owners() {
		channels[string(owner)] = channel(owner)
		operations["follow-"+string(owner)] = object{
			"action": "receive", "channel": ref("#/channels/" + string(owner)),
			"summary": fmt.Sprintf("Follow the stream %s.", owner.Stream()),
		}
	}
	for _, name := range events.Types() {
		messages[name] = s.message(name)
	}
	return object{
		"asyncapi": asyncAPI,
		"id":       "urn:mandate:protocol:v1",
		"info": object{
			"title": "Mandate", "version": "1.0.0", "description": protocolText,
			"license": object{"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
		},
		"defaultContentType": "application/cloudevents+json",
		"servers": object{"streams": object{
			"host": "localhost:4222", "protocol": "nats", "description": "NATS with JetStream.",
		}},
		"channels":   channels,
		"operations": operations,
		"components": object{
			"messages": messages,
			"schemas":  object{"headers": commitHeaders(), "cloudevent": cloudEvent()},
		},
	}
}

func ref(to string) object { return object{"$ref": to} }

func channel(owner events.Owner) object {
	messages := object{}
	for _, name := range events.Types() {
		if events.TypeOwner(name) == owner {
			messages[name] = ref("#/components/messages/" + name)
		}
	}
	return object{
		"address":     fmt.Sprintf(channelAddress, owner),
		"title":       owner.Stream(),
		"summary":     channelTitles()[owner] + ".",
		"description": "One subject is the chain of one run: its commits are numbered from 1 without a gap, and each names the digest of the one before.",
		"servers":     []any{ref("#/servers/streams")},
		"messages":    messages,
		"parameters": object{
			"partition": object{"description": fmt.Sprintf("The 32-bit FNV-1a hash of tenant, \"/\" and run, modulo %d, as two digits.", events.Partitions)},
			"tenant":    object{"description": fmt.Sprintf("The tenant: 1 to %d of A-Z, a-z, 0-9, \"-\" and \"_\".", events.MaxTokenBytes)},
			"run":       object{"description": fmt.Sprintf("The run, of the same characters; %q is the registry of the tenant.", events.RegistryRun)},
		},
	}
}

func (s *source) message(name string) object {
	payload, err := events.New(name)
	summary := ""
	if err == nil {
		summary = s.types[typeOf(payload).Name()]
	}
	return object{
		"name": name, "title": events.ShortType(name), "summary": summary,
		"contentType": "application/cloudevents+json",
		"headers":     ref("#/components/schemas/headers"),
		"payload": object{"schemaFormat": "application/schema+json;version=draft-2020-12", "schema": object{
			"allOf": []any{
				ref("#/components/schemas/cloudevent"),
				object{"properties": object{
					"type": object{"const": name}, "dataschema": object{"const": events.DataSchema(name)},
					"data": ref("./schemas/" + name + ".json"),
				}},
			},
		}},
	}
}

// commitHeaders describes the headers of a commit.
func commitHeaders() object {
	described := map[string]string{
		events.HeaderCommit:      "The commit ID, unique for ever.",
		events.HeaderTypes:       "The types of its events, joined by commas.",
		events.HeaderNumber:      "Its number in the chain of the subject, from 1.",
		events.HeaderPrevious:    "The digest of the commit before; absent for the first.",
		events.HeaderCause:       "The commit that it reacts to; absent for a first cause.",
		events.HeaderCauseEvent:  "The event of that commit, or the name of a timer or an observation.",
		events.HeaderCorrelation: "The first commit of the run.",
		events.HeaderWriter:      "Which start of which process wrote it.",
		events.HeaderSchema:      "The version of the protocol.",
		events.HeaderTrace:       "W3C trace context.",
	}
	properties := object{}
	for name, description := range described {
		properties[name] = object{"type": "string", "description": description}
	}
	required := []string{events.HeaderCommit, events.HeaderTypes, events.HeaderNumber, events.HeaderSchema}
	slices.Sort(required)
	return object{"type": "object", "properties": properties, "required": required}
}

// cloudEvent describes the attributes that every event has in JSON.
func cloudEvent() object {
	properties := object{}
	for name, description := range map[string]string{
		"id": "The event's ULID.", "source": "The owner, as a path.", "type": "The type with its version.", "subject": "The run.",
		"time": "When the decision was taken.", "datacontenttype": "The media type of data.", "dataschema": "The schema of data.",
		"tenant": "The tenant.", "commit": "The commit ID.", "number": "The commit's number in its chain.", "chain": "The commit's digest.",
		"causationid": "The commit that this one reacts to.", "correlationid": "The first commit of the run.",
	} {
		properties[name] = object{"type": "string", "description": description}
	}
	properties["specversion"] = object{"type": "string", "const": "1.0"}
	properties["data"] = object{"type": "object"}
	required := []string{"specversion", "id", "source", "type", "subject", "datacontenttype", "dataschema", "tenant", "commit", "number", "chain", "data"}
	slices.Sort(required)
	return object{"type": "object", "properties": properties, "required": required}
}
