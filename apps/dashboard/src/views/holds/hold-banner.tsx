import type { Hold } from '@signalbox/protocol';
import { now } from '../../model/clock.ts';
import { releaseHold, standingHolds, subjectOf } from '../../model/holds.ts';
import { hrefOf } from '../../model/route.ts';
import { canAct, canLook } from '../../model/session.ts';
import { Ago } from '../../parts/age.tsx';
import { ConfirmButton } from '../../parts/confirm-button.tsx';
import { duration } from '../../parts/numbers.ts';
import { Text } from '../../parts/text.tsx';

/** The holds that stand in the banner; further ones are counted. */
const shown = 3;

/** Says on every view what is held, by whom, since when and why, as long as anything is. */
export function HoldBanner() {
  const holds = standingHolds.value;
  if (holds.length === 0) return null;
  // What stops the most stands first.
  const ranked = holds.toSorted((a, b) => Number(b.on === 'all') - Number(a.on === 'all'));
  const more = ranked.length - shown;
  return (
    <aside class="held-banner" aria-label="Holds">
      <ul>
        {ranked.slice(0, shown).map((hold) => (
          <li key={hold.id}>
            <HoldLine of={hold} />
            {canAct.value && (
              <ConfirmButton
                label="Release"
                question={`Release ${subjectOf(hold)}?`}
                onConfirm={() => releaseHold(hold)}
              />
            )}
          </li>
        ))}
      </ul>
      {more > 0 && (
        <p>
          and {more} more {canLook.value && <a href={hrefOf('')}>show all</a>}
        </p>
      )}
    </aside>
  );
}

/** Says in a line what is held, by whom, since when, until when and why. */
export function HoldLine({ of }: { of: Hold }) {
  const { by, reason, created_at, until, damaged } = of;
  return (
    <span class="held-line">
      <b>
        Held: <Text>{subjectOf(of)}</Text>
      </b>{' '}
      {!damaged && (
        <>
          by <Text>{by}</Text>, <Ago at={created_at} />
          {until !== undefined && `, for another ${duration(Math.max(0, until - now.value))}`}:{' '}
          <Text>{reason}</Text>
        </>
      )}
    </span>
  );
}
