import type { ServerAnswer } from './mcp-server.js';

/** The answer of an MCP server as text for the model. */
export function textOfAnswer({ content, structuredContent }: ServerAnswer): string {
  const texts = content.map((block) => {
    switch (block.type) {
      case 'text':
        return block.text;
      case 'image':
      case 'audio':
        return `[${block.type}, ${block.mimeType}]`;
      case 'resource_link':
        return `[${block.name}: ${block.uri}]`;
      case 'resource':
        return 'text' in block.resource ? block.resource.text : `[resource ${block.resource.uri}]`;
    }
  });
  if (texts.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent);
  return texts.join('\n');
}
