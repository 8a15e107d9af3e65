import type { Tool } from '../tool.js';

const agent = { params: { id: 'agent_id' } } as const;
const version = { params: { id: 'agent_id', version: 'version' } } as const;

export const agentTools: readonly Tool[] = [
  {
    name: 'list_agents',
    title: 'List agents',
    description:
      'Use to find an agent or its id. Returns agents newest first with status and type; pass next_cursor as cursor for more. Then call get_agent or chat_with_agent.',
    operation: 'agents.list',
    hints: 'R',
  },
  {
    name: 'get_agent',
    title: 'Get an agent',
    description:
      'Use to read one agent in full: prompt, llm_config, metadata, tags and status. Call it before update_agent, so that you change only what you mean to.',
    operation: 'agents.get',
    hints: 'R',
    ...agent,
  },
  // `chat_with_agent` stands here in the list; see `chat/chat-tool.ts`.
  {
    name: 'create_agent',
    title: 'Create an agent',
    description:
      'Use to start a new agent. Creates a draft and returns it with its id. Then add tools with create_api_tool, create_mcp_server or create_agent_schema, check it with validate_agent, and publish it.',
    operation: 'agents.create',
    hints: '',
  },
  {
    name: 'update_agent',
    title: 'Change an agent',
    description:
      'Use to change fields of the draft of an agent; fields that you leave out keep their values, null removes one. The published version goes on until publish_agent is called.',
    operation: 'agents.update',
    hints: 'I',
    ...agent,
  },
  {
    name: 'duplicate_agent',
    title: 'Copy an agent',
    description:
      'Use to try changes without touching the original. Copies an agent with its schemas into a new draft and returns the copy.',
    operation: 'agents.duplicate',
    hints: '',
    ...agent,
  },
  {
    name: 'validate_agent',
    title: 'Check an agent before publishing',
    description:
      'Use before publish_agent. Checks every schema, tool, secret reference and model, and changes nothing. Returns errors that block publishing and warnings that do not.',
    operation: 'agents.validate',
    hints: 'R',
    ...agent,
  },
  {
    name: 'archive_agent',
    title: 'Archive an agent',
    description:
      'Use to take an agent out of use. Its triggers and chats stop at once; its conversations stay readable. Returns the archived agent.',
    operation: 'agents.archive',
    adminClass: 'delete',
    hints: 'DI',
    ...agent,
  },
  {
    name: 'publish_agent',
    title: 'Publish an agent',
    description:
      'Use to make the draft live. Validates it, stores a version and returns the published agent. If it is refused, read the named fields, fix them with update_agent, and call it again.',
    operation: 'agents.publish',
    adminClass: 'publish',
    hints: 'I',
    ...agent,
  },
  {
    name: 'unpublish_agent',
    title: 'Take an agent off line',
    description:
      'Use to stop serving a published agent without losing it. New turns are refused from now on; publish_agent brings it back.',
    operation: 'agents.unpublish',
    adminClass: 'publish',
    hints: 'DI',
    ...agent,
  },
];

export const versionTools: readonly Tool[] = [
  {
    name: 'list_agent_versions',
    title: 'List versions of an agent',
    description:
      'Use to see when and by whom an agent was changed. Returns its versions, newest first. Then call compare_agent_versions or get_agent_version.',
    operation: 'agent-versions.list',
    adminClass: 'versioning',
    hints: 'R',
    ...agent,
  },
  {
    name: 'get_agent_version',
    title: 'Get a version of an agent',
    description: 'Use to read one version in full: the agent and its schemas as they were at that time.',
    operation: 'agent-versions.get',
    adminClass: 'versioning',
    hints: 'R',
    ...version,
  },
  {
    name: 'compare_agent_versions',
    title: 'Compare versions of an agent',
    description:
      'Use to learn what changed between two versions, or between a version and the draft. Returns the changed fields with old and new values.',
    operation: 'agent-versions.compare',
    adminClass: 'versioning',
    hints: 'R',
    ...agent,
  },
  {
    name: 'create_agent_version',
    title: 'Save a version of an agent',
    description:
      'Use before a risky change. Stores the draft under a name without publishing it. rollback_agent_version brings it back later.',
    operation: 'agent-versions.create',
    adminClass: 'versioning',
    hints: '',
    ...agent,
  },
  {
    name: 'rollback_agent_version',
    title: 'Go back to a version of an agent',
    description:
      'Use to undo a bad change. Makes an earlier version the live one, as a new version, and returns it. Compare first with compare_agent_versions.',
    operation: 'agent-versions.rollback',
    adminClass: 'versioning',
    hints: 'D',
    ...version,
  },
];
