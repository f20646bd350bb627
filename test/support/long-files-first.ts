import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, which a first run cannot know. A file that is missing here only makes that run longer. */
const longFiles = [
  'bench/src/counts/counts.long.test.ts',
  'test/faults/kill-campaign.long.test.ts',
  'test/worker/odd-servers.long.test.ts',
  'test/cli/round-trip.long.test.ts',
  'test/cli/up.long.test.ts',
  'test/serve/acp-turns.long.test.ts',
  'test/mcp-host/http-errors.long.test.ts',
  'test/cli/operating.long.test.ts',
  'test/cli/history.long.test.ts',
  'test/serve/acp-permissions.long.test.ts',
  'test/store/sqlite-inbox-store.long.test.ts',
  'test/model/store-model.long.test.ts',
  'test/conformance/conformance.long.test.ts',
  'test/worker/odd-handshakes.long.test.ts',
  'test/abuse/slow-readers.long.test.ts',
  'test/cli/round-trip.test.ts',
  'test/store/sqlite-inbox-store.test.ts',
  'test/model/store-model.test.ts',
  'test/faults/kill-campaign.test.ts',
  'test/cli/down.test.ts',
  'test/cli/operating.test.ts',
  'test/worker/http-face-process.test.ts',
];

/** Starts the long files before all others, so that none of them is left to run alone at the end. */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const place = ({ moduleId }: TestSpecification): number => {
      const found = longFiles.findIndex((file) => moduleId.endsWith(`/${file}`));
      return found < 0 ? longFiles.length : found;
    };
    return sorted.toSorted((a, b) => place(a) - place(b));
  }
}
