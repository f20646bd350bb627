import { endOfChangedName, mcpToolName } from '@signalbox/mcp-host/rules';
import { SignalboxError } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';

/** Throws `usage` if a text cannot be the name of a tool. */
export function checkToolName(name: string): void {
  if (name !== '' && name.length <= 256) return;
  throw new SignalboxError('usage', 'the name of the tool is empty or longer than 256 characters', {
    details: { hint: 'signalbox tools list shows the names' },
  });
}

/** Returns a text of the orchestrator for people: tools in quotes have the names that `tools list` shows. */
export function withToolLabels(text: string): string {
  return text.replace(/'(mcp_[^'*]+)'/g, (_, tool: string) => `'${toolLabel({ tool })}'`);
}

/** Returns the error of a tool call for people: with the names of tools as they read them, and when to try again. */
export function labelledError(error: SignalboxError): SignalboxError {
  const { hint, retry_after_seconds: seconds } = error.details;
  const again = error.retryable && typeof seconds === 'number' && `You may try again in ${seconds} s.`;
  const hints = [typeof hint === 'string' && withToolLabels(hint), again].filter(Boolean);
  return new SignalboxError(error.code, withToolLabels(error.message), {
    retryable: error.retryable,
    cause: error,
    details: { ...error.details, ...(hints.length > 0 && { hint: hints.join(' ') }) },
  });
}

function endsWith(end: string): (listed: string) => boolean {
  return (listed) => listed.endsWith(end);
}

/** Returns whether a listed name is that of a server's tool: the whole one, or one that was shortened. */
function isToolOf(server: string, own: string): (listed: string) => boolean {
  const whole = mcpToolName(server, own, Number.POSITIVE_INFINITY);
  const end = endOfChangedName({ server, tool: own });
  return (listed) => listed === whole || listed.endsWith(end);
}

/**
 * Returns the name of the tool that somebody names as SERVER:TOOL, or as TOOL alone if only one server has such a tool. Returns any other
 * name as it is. A tool as SERVER:TOOL need not be listed: it may be withheld, or its server has not listed its tools yet. Throws `usage` if
 * several servers have the tool.
 */
export function toolNamed(name: string, listed: readonly string[]): string {
  if (listed.includes(name)) return name;
  const [server = '', own = ''] = name.split(/:(.*)/s);
  const isNamed = own === '' ? endsWith(`__${name}`) : isToolOf(server, own);
  const found = listed.filter(isNamed);
  if (found.length <= 1) return found[0] ?? (own === '' ? name : mcpToolName(server, own));
  throw new SignalboxError('usage', `several servers have a tool '${name}'`, {
    details: { hint: `name one of them: ${found.map((tool) => toolLabel({ tool })).join(', ')}` },
  });
}
