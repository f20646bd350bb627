/** The command of ours, as `signalbox`, `node …/signalbox.js` and `npx signalbox@latest` start it, with `worker mcp`. */
const ownCommand =
  /(^|[\s/\\"'])signalbox(\.(js|mjs|cjs|cmd|exe|ps1))?(@[^\s"']*)?["']?(\s.*)?\sworker\s+mcp(\s|["']|$)/s;
/** The agent's token as `worker config --http` writes it. */
const ownToken = /\$\{(env:)?SIGNALBOX_TOKEN\b|\$\{input:signalbox-token\}/;

/** The reason why an entry for a worker of Signalbox is not served. */
export const ownFaceProblem =
  'is Signalbox itself (worker mcp), whose tools would come back as new ones, again and again';

/**
 * Returns true if an entry of `mcpServers`, as it is written, is what `signalbox worker config` prints: Signalbox would serve itself.
 * A worker behind another program or another address is recognised by the host, when it shakes hands.
 */
export function isOwnFace(entry: unknown): boolean {
  if (typeof entry !== 'object' || entry === null) return false;
  const { command, args, headers } = entry as Record<string, unknown>;
  const words = [command, ...(Array.isArray(args) ? args : [])].filter((word) => typeof word === 'string');
  if (typeof command === 'string' && ownCommand.test(words.join(' '))) return true;
  const values = typeof headers === 'object' && headers !== null ? Object.values(headers) : [];
  return values.some((value) => typeof value === 'string' && ownToken.test(value));
}
