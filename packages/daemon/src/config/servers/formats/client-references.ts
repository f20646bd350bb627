import {
  type ReferenceSources,
  type ReferenceSyntax,
  readReferredFile,
  readVariable,
} from '../../document/references.ts';

/** Variables that the host fills in when it starts a server. */
const hostVariables = ['instance', 'data'];

/** Reads `${scheme:name}`, or `${VARIABLE}` with a default for one that is not set. An empty variable is set. */
function read(
  [scheme, name = '', variable = '', otherwise]: readonly (string | undefined)[],
  sources: ReferenceSources,
): ReturnType<typeof readVariable> {
  if (scheme === 'file') return readReferredFile(name, sources);
  if (scheme === 'env') return readVariable(name, sources);
  if (scheme !== undefined) {
    const what = scheme === 'input' ? 'asks the user of an editor' : 'is known to an editor only';
    return { problem: `${what}; put the value in the environment and write \${env:NAME}` };
  }
  if (hostVariables.includes(variable) && otherwise === undefined)
    return { value: `\${${variable}}`, isSecret: false };
  const found = readVariable(variable, sources);
  return otherwise !== undefined && 'problem' in found ? { value: otherwise, isSecret: false } : found;
}

/**
 * The references of an `mcp.json`: those of `signalbox.yaml`, `${VAR}`, `${VAR:-default}`, and those of VS Code and Cursor. A value that
 * only an editor knows is refused.
 */
export const editorReferences: ReferenceSyntax = {
  pattern: /\$\{(?:(env|file|input|command|config):([^}]*)|([A-Za-z_]\w*|\/)(?::-([^}]*))?)\}/g,
  read,
};

/** Gemini CLI also reads `$VAR`. */
export const geminiReferences: ReferenceSyntax = {
  pattern:
    /\$\{(?:(env|file|input|command|config):([^}]*)|([A-Za-z_]\w*|\/)(?::-([^}]*))?)\}|\$([A-Za-z_]\w*)/g,
  read: ([scheme, name, variable, otherwise, bare], sources) =>
    read([scheme, name, variable ?? bare, otherwise], sources),
};

/** Qwen Code reads `$VAR` and `${VAR}`. A reference with a default stays as it is. */
export const qwenReferences: ReferenceSyntax = {
  pattern: /\$\{(?:(env|file):([^}]*)|([A-Za-z_]\w*))\}|\$([A-Za-z_]\w*)/g,
  read: ([scheme, name, variable, bare], sources) => read([scheme, name, variable ?? bare], sources),
};

/** opencode and Kilo read `{env:NAME}` and `{file:path}`. */
export const opencodeReferences: ReferenceSyntax = {
  pattern: /\{(env|file):([^}]*)\}/g,
  read: ([scheme, name], sources) => {
    const found = read([scheme, name], sources);
    return 'value' in found && scheme === 'file' ? { ...found, value: found.value.trim() } : found;
  },
};

/** Every text is what it says. */
export const noReferences: ReferenceSyntax = { pattern: /(?!)/g, read: () => ({ problem: '' }) };
