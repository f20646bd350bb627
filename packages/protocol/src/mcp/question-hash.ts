import type { AskPermissionRequest } from './mcp-request.ts';

/**
 * Returns the hash of a question of an agent's CLI: SHA-256 in base64url, over the JSON text of `[cli, tool, input]`. The answer has that
 * of the question which a person saw, so that the asker does not take it for another question under the same id.
 */
export async function questionHash({
  cli,
  tool,
  input,
}: Pick<AskPermissionRequest, 'cli' | 'tool' | 'input'>): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify([cli, tool, input]));
  return Buffer.from(await crypto.subtle.digest('SHA-256', text)).toString('base64url');
}
