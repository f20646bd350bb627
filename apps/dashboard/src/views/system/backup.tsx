import type { BackupState } from '@signalbox/daemon/dashboard';
import { useState } from 'preact/hooks';
import { act } from '../../model/notices.ts';
import { useResource } from '../../model/resource.ts';
import { Age } from '../../parts/age.tsx';
import { ConfirmButton } from '../../parts/confirm-button.tsx';
import { bytes, timeOf } from '../../parts/numbers.ts';
import { Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';

/** Returns the milliseconds until the progress of a running backup is read again; `undefined` if none runs. */
const againIn = ({ state }: BackupState) => (state === 'running' ? 500 : undefined);

/** Makes a backup while everything runs. */
export function BackupPart() {
  const { data, error } = useResource<BackupState>('backup', {}, { follows: false, againIn });
  const [directory, setDirectory] = useState('');
  const isRunning = data?.state === 'running';
  if (!data) return <p class="empty">{error ?? 'Reading …'}</p>;
  const begin = (): Promise<unknown> =>
    act('backup', { directory }, () => ({ text: 'The backup has begun' }));
  return (
    <div class="scroll backup">
      <div class="note">
        <label>
          <span>An empty or new directory of the broker’s machine, with its whole path</span>
          <input
            value={directory}
            placeholder="/backups/today"
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setDirectory(event.currentTarget.value)}
          />
        </label>
        {!isRunning && directory.trim() !== '' && <ConfirmButton label="Back up now" onConfirm={begin} />}
        <p class="quiet">
          Everything goes on meanwhile. Keep the page open: without it the backup is given up. Not in it:
          signalbox.yaml and the files that it names, sign-ins to MCP servers, and the texts of tokens.
        </p>
      </div>
      <Outcome of={data} />
    </div>
  );
}

function Outcome({ of }: { of: BackupState }) {
  switch (of.state) {
    case 'none':
      return null;
    case 'running': {
      const { copied_bytes, total_bytes, directory, began_at } = of;
      return (
        <section role="status">
          <h2>
            Copying to <Text>{directory}</Text>
          </h2>
          <progress {...(total_bytes > 0 && { max: total_bytes, value: copied_bytes })} aria-label="Copied" />
          <p class="quiet">
            {total_bytes > 0 ? `${bytes(copied_bytes)} of some ${bytes(total_bytes)}` : 'beginning'}, for{' '}
            <Age at={began_at} />
          </p>
        </section>
      );
    }
    case 'failed':
      return (
        <p class="warning" role="alert">
          <Text>{`The backup into ${of.directory} failed: ${of.message}`}</Text>
        </p>
      );
    case 'done':
      return (
        <section>
          <h2>
            Backup of {timeOf(of.manifest.began_at)} in <Text>{`${of.directory} on ${of.host}`}</Text>
          </h2>
          {of.journal_missing !== undefined && (
            <p class="warning">
              <Text>{`Without the journal: ${of.journal_missing}`}</Text>. Calls that wait in it and are not
              safe to repeat end as outcome_unknown, as after every restore.
            </p>
          )}
          <Table
            label="Files of the backup"
            rows={of.manifest.files}
            keyOf={({ name }) => name}
            empty="It has no files."
            columns={[
              { title: 'File', cell: ({ name }) => <Text>{name}</Text> },
              { title: 'Size', width: '8rem', isNumber: true, cell: ({ bytes: size }) => bytes(size) },
            ]}
          />
          <p class="quiet">
            Next: read it back with <code>signalbox backup verify</code> on <Text>{of.host}</Text>.
          </p>
        </section>
      );
  }
}
