import { readFile, writeFile } from 'node:fs/promises';
import { errnoOf } from '@signalbox/protocol';

const rule = '*.token';

/** Has git ignore token files: adds a rule to `.gitignore`, or writes the file. A rule that is there already is left alone. */
export async function ignoreTokens(file: string): Promise<'written' | 'extended' | 'unchanged'> {
  const text = await textOf(file);
  if (text?.split(/\r?\n/).some((line) => line.trim() === rule)) return 'unchanged';
  const lines = `# Tokens that signalbox token issue --out writes\n${rule}\n`;
  await writeFile(file, `${text ?? ''}${text === undefined || /(^|\n)$/.test(text) ? '' : '\n'}${lines}`);
  return text === undefined ? 'written' : 'extended';
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
