import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Files that `mcp add` of each client wrote: Claude Code 2.1.332, Codex 0.171.0, Copilot 1.0.102, Gemini CLI 0.61.0, Qwen Code 0.24.4,
 * opencode 1.18.33, Kilo 7.7.9 and Cline 3.0.65. Those of VS Code, Cursor and Amp were written by hand.
 */
const written = fileURLToPath(new URL('../client-files/', import.meta.url));
export const files = {
  home: [
    '.config/amp/settings.json',
    '.cline/data/settings/cline_mcp_settings.json',
    '.qwen/settings.json',
    '.gemini/settings.json',
    '.copilot/mcp-config.json',
    '.config/kilo/kilo.jsonc',
    '.config/opencode/opencode.jsonc',
    '.codex/config.toml',
    '.claude.json',
  ],
  shop: ['.qwen/settings.json', '.gemini/settings.json', '.vscode/mcp.json', '.cursor/mcp.json', '.mcp.json'],
};

/** Copies the files into a folder, with its project and a folder of documents in place of those that they name. */
export async function copied(directory: string, documents: string): Promise<void> {
  await cp(written, directory, { recursive: true });
  await writeFile(join(directory, 'shop/.env'), 'API_KEY=of-the-env-file\nLOG_LEVEL=debug\n');
  for (const [folder, names] of Object.entries(files)) {
    for (const name of names) {
      const path = join(directory, folder, name);
      const text = await readFile(path, 'utf8');
      const own = text
        .replaceAll('/home/rosa/shop', join(directory, 'shop'))
        .replaceAll('/srv/docs', documents);
      await writeFile(path, own, { mode: 0o600 });
    }
  }
}
