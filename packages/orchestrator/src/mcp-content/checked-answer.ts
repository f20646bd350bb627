import {
  isInputRequired,
  isJsonObject,
  isNamedUri,
  type McpReply,
  namedUri,
  normalUri,
  toolCallError,
} from '@signalbox/protocol';
import type { McpContentRoute } from './route-mcp-content.ts';

/**
 * Makes the reply from the unchanged answer of a server. The contents of a resource must have the URI that was asked for, in any spelling,
 * or URIs below it that `mayRead` allows. A resource that was asked for under the name of its server is returned under that name.
 */
export function checkedAnswer(
  result: Record<string, unknown>,
  { server, resource }: McpContentRoute,
  { canAnswer, mayRead }: { canAnswer: boolean; mayRead: (uri: string) => boolean },
): McpReply {
  if (isInputRequired(result)) {
    if (canAnswer) return { input_required: { ...result, resultType: 'input_required' } };
    return unusable(server, 'asks its caller for input, which this caller cannot give');
  }
  if (!resource) return { data: result };
  const { contents } = result;
  if (!Array.isArray(contents)) return unusable(server, 'answered a read without contents');
  const { asked, uri } = resource;
  const normal = normalUri(uri);
  const named: unknown[] = [];
  for (const content of contents) {
    if (!isJsonObject(content) || typeof content.uri !== 'string')
      return unusable(server, `answered the read of '${asked}' with contents that have no URI`);
    if (typeof content.text !== 'string' && typeof content.blob !== 'string')
      return unusable(server, `answered the read of '${asked}' with contents that are neither text nor blob`);
    const isAsked = normalUri(content.uri) === normal;
    if (!isAsked && !(isBelow(normalUri(content.uri), normal) && mayRead(content.uri)))
      return unusable(server, `answered the read of '${asked}' with another resource`);
    const name = isNamedUri(asked) ? (isAsked ? asked : namedUri(server, content.uri)) : content.uri;
    named.push(name === content.uri ? content : { ...content, uri: name });
  }
  return { data: { ...result, contents: named } };
}

function isBelow(uri: string, folder: string): boolean {
  return uri.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

function unusable(server: string, what: string): McpReply {
  return { error: toolCallError('internal', `server '${server}' ${what}`, { mayHaveRun: false }) };
}
