import type { Hold } from '@signalbox/protocol';
import { now } from '../../model/clock.ts';
import { releaseHold, standingHolds, subjectOf } from '../../model/holds.ts';
import { hrefOf } from '../../model/route.ts';
import { canAct, canLook } from '../../model/sign-in.ts';
import { Ago } from '../../parts/age.tsx';
import { ConfirmButton } from '../../parts/confirm-button.tsx';
import { duration } from '../../parts/numbers.ts';
import { Text } from '../../parts/text.tsx';

/** The number of holds in the banner; further ones are counted. */
const shown = 3;

/** Shows on every view which holds there are: target, person, time and reason. It is empty without holds. */
export function HoldBanner() {
  const holds = standingHolds.value;
  if (holds.length === 0) return null;
  // The widest hold comes first.
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

/** Shows a hold on one line: target, person, start, end and reason. */
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
