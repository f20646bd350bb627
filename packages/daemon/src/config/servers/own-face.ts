/** Our program, as `signalbox`, `node …/signalbox.js` and `npx signalbox@latest` name it. */
const ownProgram = /(^|[\s/\\"'])signalbox(\.(js|mjs|cjs|cmd|exe|ps1))?(@[^\s"']*)?["']?(?=\s)/;
/** The words with which it serves MCP, after the name of the program. */
const faceWords = /\sworker\s+mcp(\s|["']|$)/;
/** The agent's token as `worker config --http` writes it, or in its own form. */
const ownToken =
  /\$?\{(env:)?SIGNALBOX_TOKEN\b|\$SIGNALBOX_TOKEN\b|\$\{input:signalbox-token\}|^Bearer (TOKEN$|sbx_[^~\s]+~)/;

/** The reason why an entry for a worker of Signalbox is not served. */
export const ownFaceProblem =
  'is Signalbox itself (worker mcp), whose tools would come back as new ones, again and again';

/**
 * Returns true if an entry, as a client writes it, is what `signalbox worker config` prints: Signalbox would serve itself.
 * A worker behind another program or another address is recognised by the host, when it shakes hands.
 */
export function isOwnFace(entry: unknown): boolean {
  if (typeof entry !== 'object' || entry === null) return false;
  const { command, args, headers, transport, bearer_token_env_var } = entry as Record<string, unknown>;
  if (bearer_token_env_var === 'SIGNALBOX_TOKEN' || isOwnFace(transport)) return true;
  const words = [command, Array.isArray(args) ? args : []].flat().flatMap(textsOf);
  if (startsFace(words.join(' '))) return true;
  const values = typeof headers === 'object' && headers !== null ? Object.values(headers) : [];
  return values.flatMap(textsOf).some((text) => ownToken.test(text));
}

/** Returns the text of a value that may also be written as `{ value, secret }`. */
function textsOf(value: unknown): string[] {
  const text = typeof value === 'object' && value !== null && 'value' in value ? value.value : value;
  return typeof text === 'string' ? [text] : [];
}

/** Finds the program first and its words behind it: one pattern for both would be slow on some lines. */
function startsFace(line: string): boolean {
  const program = ownProgram.exec(line);
  return program !== null && faceWords.test(line.slice(program.index + program[0].length));
}
