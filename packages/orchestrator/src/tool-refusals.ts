import { type Tool, type ToolCallError, toolCallError } from '@signalbox/protocol';
import { closest } from 'fastest-levenshtein';
import type { Catalog } from './role-view.ts';

/**
 * The tool, if `role` may call it now. A refusal reads the same whether a forbidden tool exists or not, and hints
 * only at tools of the role's own view.
 */
export function admit(
  catalog: Catalog,
  role: string,
  name: string,
): { tool: Tool; refusal?: undefined } | { tool?: undefined; refusal: ToolCallError } {
  const view = catalog.view(role);
  const tool = view.find(name);
  if (tool) return { tool };
  const nearest = closest(
    name,
    view.tools.map((known) => known.name),
  );
  const options = {
    mayHaveRun: false,
    hint: nearest
      ? `The most similar tool you may call is '${nearest}'.`
      : 'You may call no tools at present.',
  };
  if (!catalog.allowlist.allows(role, name)) {
    return {
      refusal: toolCallError(
        'permission_denied',
        `tool '${name}' is not allowed for role '${role}'`,
        options,
      ),
    };
  }
  return { refusal: toolCallError('tool_not_found', `there is no tool '${name}'`, options) };
}
