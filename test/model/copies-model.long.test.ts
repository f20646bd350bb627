import { expect, it } from 'vitest';
import { CopiesUnderTest, type CopyOp, copyOps } from './copies-under-test.ts';
import { counterexample, modelSettings } from './model-settings.ts';

/** Each of these would run a call twice if its messages were not foreign to the journal. */
const examples: [CopyOp[]][] = [
  [
    [
      'keep',
      'hang',
      'note',
      'roll back',
      'wait and backup',
      'note',
      'read',
      'restore',
      'call',
      'backup',
      'restore',
    ],
  ],
];

it('no random sequence of backups, restores and set back journals runs a call twice or loses what had a receipt', async () => {
  const agrees = async (ops: readonly CopyOp[]) => {
    await using tested = await CopiesUnderTest.open();
    for (const op of ops) await tested.step(op);
    await tested.finish();
  };
  expect(
    await counterexample(copyOps, agrees, { ...modelSettings(2), examples, endOnFailure: true }),
  ).toBeUndefined();
}, 60_000);
