import type { paths } from '#api/openapi';

type Answer<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;

export type AgentSummary = Answer<'/api/agents'>['data'][number];
export type Agent = Answer<'/api/agents/{id}'>['data'];
export type AgentPatch = NonNullable<
  paths['/api/agents/{id}']['patch']['requestBody']
>['content']['application/json'];
export type Tool = Answer<'/api/agents/{id}/schemas'>['data'][number];
export type ToolType = Tool['type'];
export type NewTool = NonNullable<
  paths['/api/agents/{id}/schemas']['post']['requestBody']
>['content']['application/json'];
export type Version = Answer<'/api/agents/{id}/versions'>['data'][number];

export const agentTypes = ['assistant', 'chatbot', 'workflow', 'classifier', 'data_analyst'] as const;
