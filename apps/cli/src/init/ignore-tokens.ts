import { constants } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { errnoOf } from '@signalbox/protocol/internal';

const rule = '*.token';

/**
 * Has git ignore token files: adds a rule to `.gitignore`, or writes the file. A rule that is there already is left alone, and so is a
 * link, which git does not read: it may lead out of the folder.
 */
export async function ignoreTokens(file: string): Promise<'written' | 'extended' | 'unchanged'> {
  const text = await textOf(file);
  if (text === isLink) return 'unchanged';
  if (text?.split(/\r?\n/).some((line) => line.trim() === rule)) return 'unchanged';
  const lines = `# Tokens that signalbox token issue --out writes\n${rule}\n`;
  await writeFile(file, `${text ?? ''}${text === undefined || /(^|\n)$/.test(text) ? '' : '\n'}${lines}`);
  return text === undefined ? 'written' : 'extended';
}

const isLink = Symbol('link');

async function textOf(file: string): Promise<string | typeof isLink | undefined> {
  try {
    return await readFile(file, { encoding: 'utf8', flag: constants.O_RDONLY | constants.O_NOFOLLOW });
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    if (errnoOf(error) === 'ELOOP') return isLink;
    throw error;
  }
}
