import type { ServersReply } from '@signalbox/protocol';
import { byteSize } from '../../terminal/byte-size.ts';
import { count } from '../../terminal/output.ts';
import { type Finding, failed, ok, warning } from '../finding.ts';

/** The share of the room from which on there is a warning. */
const fullShare = 0.8;

/** Judges what an orchestrator keeps of large results; it says nothing of one that keeps none. */
export function keptResultsFindings(kept: ServersReply['kept_results']): Finding[] {
  if (!kept) return [];
  const { results, bytes, max_results: mostResults, max_bytes: mostBytes, problem } = kept;
  if (problem !== undefined)
    return [failed(`a large result was not kept: ${problem}`, 'make room on the disk of the data directory')];
  if (results === 0) return [];
  const text = `${count(results, 'large result')} kept for agents: ${byteSize(bytes)} of ${byteSize(mostBytes)}`;
  return results < fullShare * mostResults && bytes < fullShare * mostBytes
    ? [ok(text)]
    : [
        warning(
          `${text}, and ${results} of ${mostResults}`,
          'raise orchestrator.limits.results, or have results kept for a shorter time there (ageMs)',
        ),
      ];
}
