// The tools of MCP as the product promises them: the roles that see each (A: owner and admin, E: editor, M: member), and its hints.

export interface ToolRow {
  readonly name: string;
  readonly roles: string;
  readonly hints: string;
}

const table = `
list_agents AEM R
get_agent AEM R
chat_with_agent AEM O
create_agent AE -
update_agent AE I
duplicate_agent AE -
validate_agent AE R
archive_agent A DI
publish_agent A I
unpublish_agent A DI
list_agent_versions A R
get_agent_version A R
compare_agent_versions A R
create_agent_version A -
rollback_agent_version A D
list_agent_schemas AE R
get_agent_schema AE R
create_agent_schema AE -
update_agent_schema AE I
delete_agent_schema A DI
list_api_tools AE R
get_api_tool AE R
create_api_tool AE -
update_api_tool AE I
test_api_tool AE O
delete_api_tool A DI
list_mcp_servers AE R
get_mcp_server AE R
create_mcp_server AE -
update_mcp_server AE I
discover_mcp_server_tools AE OI
delete_mcp_server A DI
list_triggers AE R
get_trigger AE R
create_trigger AE -
update_trigger AE I
enable_trigger AE I
disable_trigger AE I
test_trigger AE R
invoke_trigger AE O
get_trigger_stats AE R
list_trigger_executions AE R
get_trigger_execution AE R
delete_trigger A DI
list_database_configs AE R
get_database_config AE R
create_database_config AE -
update_database_config AE I
refresh_database_schema AE OI
test_database_connection AE RO
discover_database_schema AE RO
delete_database_config A DI
list_sessions AEM R
get_session AEM R
suspend_session A I
resume_session A I
handoff_session A I
cancel_turn A DI
send_manual_message A O
delete_session A DI
list_consumers AE R
get_consumer AE R
list_consumer_sessions AE R
list_denied_consumers A R
deny_consumer A DI
allow_consumer A I
delete_consumer_memory A DI
list_executions AE R
get_execution AE R
list_dead_letters A R
replay_dead_letter A O
call_llm AE O
list_models AE R
get_quota AE R
get_telemetry_dashboard AE R
get_telemetry_report AE R
list_telemetry_logs AE R
list_secrets A R
get_secret A R
create_secret A -
update_secret A D
delete_secret A DI
test_provider_key A RO
rotate_trigger_secret A D
list_api_keys A R
get_api_key A R
update_api_key_rpm A I
revoke_api_key A DI
list_members A R
update_member_role A DI
remove_member A DI
list_invites A R
create_invite A O
cancel_invite A DI
get_billing_plan A R
get_billing_usage A R
`;

export const toolRows: readonly ToolRow[] = table
  .trim()
  .split('\n')
  .map((line) => {
    const [name = '', roles = '', hints = ''] = line.split(' ');
    return { name, roles, hints: hints === '-' ? '' : hints };
  });
