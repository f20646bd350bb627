import { type ReferenceSyntax, readReferredFile, readVariable } from '../document/references.ts';

/** Variables that the host fills in when it starts a server. */
const hostVariables = ['instance', 'data'];

/**
 * The references of an `mcp.json`: those of `signalbox.yaml`, `${VAR}`, `${VAR:-default}`, and VS Code's `${input:…}`, which is
 * refused because only an editor can ask for it.
 */
export const mcpFileReferences: ReferenceSyntax = {
  pattern: /\$\{(?:(env|file|input):([^}]*)|([A-Za-z_]\w*|\/)(?::-([^}]*))?)\}/g,
  read: ([scheme, name = '', variable = '', otherwise], sources) => {
    if (scheme === 'file') return readReferredFile(name, sources);
    if (scheme === 'env') return readVariable(name, sources);
    if (scheme === 'input') {
      return {
        problem: `asks the user of an editor; put the value in the environment and write \${env:NAME}`,
      };
    }
    if (hostVariables.includes(variable) && otherwise === undefined)
      return { value: `\${${variable}}`, isSecret: false };
    const read = readVariable(variable, sources);
    // An empty variable takes the default too, as in a shell.
    const isEmpty = !('value' in read) || read.value === '';
    return otherwise !== undefined && isEmpty ? { value: otherwise, isSecret: false } : read;
  },
};
