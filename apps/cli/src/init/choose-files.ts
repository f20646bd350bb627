import { SignalboxError } from '@signalbox/protocol';
import { oneLine } from '../terminal/output.ts';
import type { UsableFile } from './usable-files.ts';

/** Asks on the terminal which files to use; all are chosen at first. Rejects with `cancelled` if the person breaks off. */
export async function chooseFiles(files: readonly UsableFile[]): Promise<UsableFile[]> {
  const { isCancel, multiselect } = await import('@clack/prompts');
  const chosen = await multiselect({
    message: 'Which of these may Signalbox use? Their settings and secrets stay where they are.',
    options: files.map((file) => ({
      value: file,
      label: `${file.path}  (${file.client})`,
      hint: oneLine(file.servers.join(', '), 60),
    })),
    initialValues: [...files],
    required: false,
    output: process.stderr,
  });
  if (!isCancel(chosen)) return chosen;
  throw new SignalboxError('cancelled', 'nothing was written', { details: { interrupted: true } });
}
