import { basename, dirname, sep } from 'node:path';

/**
 * Returns the directory in which the servers of another client's file work: that of the file. A file in a folder of settings, such as
 * `.cursor/mcp.json` or `.vscode/mcp.json`, belongs to the folder around it, which those clients call the workspace.
 */
export function importDirectory(file: string): string {
  const directory = dirname(file);
  return basename(directory).startsWith('.') ? dirname(directory) : directory;
}

/** Returns the variables of VS Code and Cursor that an `mcp.json` may refer to, for servers that work in a directory. */
export function editorVariables(directory: string, home: string): Record<string, string> {
  return {
    workspaceFolder: directory,
    workspaceFolderBasename: basename(directory),
    userHome: home,
    pathSeparator: sep,
    '/': sep,
  };
}
