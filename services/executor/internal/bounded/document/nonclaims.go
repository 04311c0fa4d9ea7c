package document

import "slices"

// Nonclaims returns what the profile does not claim, in the order in which every profile, Trace and Evidence carries it.
func Nonclaims() []string { return slices.Clone(nonclaims[:]) }

// nonclaims is never changed.
var nonclaims = [24]string{
	"no_compiler_determinism_from_model_output",
	"no_model_output_authority",
	"no_provider_identity_provenance_or_quality_truth",
	"no_secret_input_or_secret_leakage_guarantee_for_caller_supplied_content",
	"no_credential_prompt_state_trace_or_diagnostic_exposure",
	"no_ambient_network_filesystem_process_home_or_environment_authority",
	"no_write_apply_mutation_or_target_execution_tool_authority",
	"no_capability_minting_delegation_or_self_approval",
	"no_human_approval_ui_or_policy",
	"no_semantic_prompt_injection_proof",
	"no_forced_cancellation_or_preemption",
	"no_exactly_once_provider_billing_or_retry",
	"no_durable_memory_persistence_recovery_or_resume",
	"no_crash_reboot_or_power_loss_durability",
	"no_distributed_or_parallel_execution",
	"no_model_quality_accuracy_or_completion_guarantee",
	"no_live_price_or_cost_accuracy_guarantee",
	"no_reusable_authorization_token",
	"no_signature_attestation_or_authenticated_provenance",
	"no_wallet_payment_signing_asset_or_economic_authority",
	"no_privacy_compliance_or_data_residency_guarantee",
	"no_general_formal_proof",
	"no_new_language_graph_cleanup_backend_or_runtime_semantics",
	"no_current_schema_api_or_kat_modification",
}
