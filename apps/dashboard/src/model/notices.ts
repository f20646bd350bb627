import { signal } from '@preact/signals';
import { ApiFailure, command } from '../api/request.ts';
import { commandsDone } from './live.ts';

/** A sentence about the end of a command, which is shown for some seconds. */
export interface Notice {
  id: number;
  tone: 'good' | 'bad';
  text: string;
  /** The address of a view that shows more. */
  href?: string;
}

const shownMs = { good: 6000, bad: 15_000 };

export const notices = signal<readonly Notice[]>([]);
let lastId = 0;

/** Shows a notice for some seconds. */
export function notify(notice: Omit<Notice, 'id'>): void {
  const id = ++lastId;
  notices.value = [...notices.value.slice(-3), { ...notice, id }];
  setTimeout(() => dismiss(id), shownMs[notice.tone]);
}

/** Removes a notice. */
export function dismiss(id: number): void {
  notices.value = notices.value.filter((one) => one.id !== id);
}

/** Sends a command, perhaps again under its `key`, and makes all views read again. Rejects as the API does. */
export async function perform<Answer>(path: string, params: unknown, key?: string): Promise<Answer> {
  try {
    return await command<Answer>(path, params, key);
  } finally {
    // A command may have been refused because something has changed.
    commandsDone.value++;
  }
}

/** Sends a command, and shows its result. Resolves with its answer, or `undefined` if it failed. */
export async function act<Answer>(
  path: string,
  params: unknown,
  done: (answer: Answer) => Omit<Notice, 'id' | 'tone'> & { tone?: Notice['tone'] },
): Promise<Answer | undefined> {
  try {
    const answer = await perform<Answer>(path, params);
    notify({ tone: 'good', ...done(answer) });
    return answer;
  } catch (error) {
    notify({ tone: 'bad', text: `Not done: ${failureText(error)}` });
    return undefined;
  }
}

/** Returns the reason why a command failed, and what helps. */
export function failureText(error: unknown): string {
  const hint = error instanceof ApiFailure && error.hint !== undefined ? ` ${error.hint}` : '';
  return `${error instanceof Error ? error.message : error}${hint}`;
}
