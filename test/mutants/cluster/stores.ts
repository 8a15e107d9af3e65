import { mutantsOf } from '../mutant.js';

const redis = {
  tests: ['test/integration/cluster/membership/redis-member-store.test.ts'],
  simulations: [],
};

const packed = {
  tests: ['test/integration/cluster/membership/packed-leases.test.ts'],
  simulations: [],
};

/** Members in Redis, numbers in PostgreSQL. */
export const stores = [
  ...mutantsOf(
    'cluster/fencing/postgres/view-numbers.ts',
    [
      {
        id: 'number-issued-twice',
        rule: 'A view number is issued once.',
        find: `    on conflict (cluster) do update set last_number = greatest(c.last_number, $2::bigint) + 1
    returning`,
        replace: `    on conflict (cluster) do update set last_number = greatest(c.last_number, $2::bigint + 1)
    returning`,
      },
      {
        id: 'seized-number-not-kept',
        rule: 'A seized number is read by every process that goes on without Redis.',
        find: `      seized_number = greatest(c.last_number, $2::bigint) + 1`,
        replace: `      seized_number = c.seized_number`,
      },
      {
        id: 'oldest-generation-counts',
        rule: 'The newest named generation counts.',
        find: `where cluster = $1 order by number desc limit 1`,
        replace: `where cluster = $1 order by number asc limit 1`,
      },
    ],
    {
      tests: ['test/integration/cluster/fencing/postgres-fence-store.test.ts'],
      simulations: [],
    },
  ),
  ...mutantsOf(
    'cluster/membership/redis/renew.lua',
    [
      {
        id: 'late-renewal-executed',
        rule: 'Redis refuses a renewal whose sender has given up.',
        find: `if late > tonumber(ARGV[8]) then`,
        replace: `if late > tonumber(ARGV[8]) * 1000000 then`,
      },
      {
        id: 'removed-lease-created-again',
        rule: 'A lease that was removed is not created again.',
        find: `(ARGV[4] == mark or `,
        replace: `(ARGV[4] == 'never' or `,
      },
      {
        id: 'released-lease-created',
        rule: 'A process that was released gets no lease, also not by its first renewal.',
        find: `redis.call('HEXISTS', members, 'left:' .. ARGV[1]) == 1`,
        replace: `false`,
      },
      {
        id: 'older-renewal-overwrites',
        rule: 'A renewal that arrives after a later one changes nothing.',
        find: `elseif not before or tonumber(ARGV[2]) >= tonumber(string.match(before, '^%d+')) then`,
        replace: `elseif true then`,
      },
    ],
    redis,
  ),
  ...mutantsOf(
    'cluster/membership/redis/renew.lua',
    [
      {
        id: 'renewal-not-packed',
        rule: 'Readers see each renewal.',
        find: `    pack(ARGV[1], lease, ARGV[10], ARGV[11])`,
        replace: ``,
      },
    ],
    packed,
  ),
  ...mutantsOf(
    'cluster/membership/redis/packing.lua',
    [
      {
        id: 'replica-keeps-the-mark',
        rule: 'A promoted replica gets a new generation mark.',
        find: `  if mark and maker == server and not isReplaced(mark) then`,
        replace: `  if mark and not isReplaced(mark) then`,
      },
    ],
    redis,
  ),
  ...mutantsOf(
    'cluster/membership/redis/packing.lua',
    [
      {
        id: 'old-lease-beside-the-layout',
        rule: 'A lease that an older version wrote is seen at once.',
        find: `  if layout and tonumber(fields) ~= redis.call('HLEN', members) then`,
        replace: `  if false then`,
      },
      {
        id: 'layout-soon-after-old-leases',
        rule: 'Nothing is packed until all processes of an older version have surely stopped.',
        find: `local unpackedMs = 60000`,
        replace: `local unpackedMs = 0`,
      },
      {
        id: 'evicted-string-padded',
        rule: 'A packed string that Redis evicted is made anew.',
        find: `  local isWhole = redis.call('STRLEN', packed) == tonumber(bytes)`,
        replace: `  local isWhole = true`,
      },
    ],
    packed,
  ),
  ...mutantsOf(
    'cluster/membership/redis/remove.lua',
    [
      {
        id: 'late-vote-executed',
        rule: 'Redis refuses a vote whose sender has given up.',
        find: `if now - tonumber(ARGV[9]) > tonumber(ARGV[10]) then`,
        replace: `if now < 0 then`,
      },
      {
        id: 'renewed-lease-removed',
        rule: 'A lease that was renewed since the vote is not removed.',
        find: `if renewals ~= ARGV[3] then`,
        replace: `if renewals == '' then`,
      },
      {
        id: 'votes-not-counted',
        rule: 'A lease is removed only with enough votes.',
        find: `if votes < tonumber(ARGV[5]) then`,
        replace: `if votes < 1 then`,
      },
      {
        id: 'old-votes-count',
        rule: 'Votes count for a bounded time.',
        find: `  if counts and now - tonumber(raised[index + 1]) <= tonumber(ARGV[6]) then`,
        replace: `  if counts then`,
      },
      {
        id: 'removed-before-the-silence',
        rule: 'A lease is removed only after the required silence.',
        find: `if silent < tonumber(ARGV[7]) then`,
        replace: `if silent < 0 then`,
      },
      {
        id: 'vote-of-another-generation',
        rule: 'A vote of another generation removes nothing.',
        find: `if not lease or mark ~= ARGV[1] then`,
        replace: `if not lease then`,
      },
    ],
    redis,
  ),
  ...mutantsOf(
    'cluster/membership/redis/publish.lua',
    [
      {
        id: 'view-over-another-view',
        rule: 'A view is published only on top of the one that it was made from.',
        find: `  fits = current and string.match(current, '^%d+ %x+') == ARGV[3]`,
        replace: `  fits = current`,
      },
      {
        id: 'restored-over-a-newer-view',
        rule: 'A restored view does not replace a newer one.',
        find: `  fits = not current or tonumber(string.match(current, '^%d+')) < tonumber(string.match(ARGV[2], '^%d+'))`,
        replace: `  fits = true`,
      },
      {
        id: 'late-publication-executed',
        rule: 'Redis refuses a view whose maker has given up.',
        find: `if now - tonumber(ARGV[5]) > tonumber(ARGV[6]) then`,
        replace: `if now < 0 then`,
      },
      {
        id: 'view-of-another-generation',
        rule: 'A view of another generation is not published.',
        find: `if redis.call('HGET', KEYS[1], 'mark') ~= ARGV[1] or redis.call`,
        replace: `if redis.call`,
      },
    ],
    redis,
  ),
  ...mutantsOf(
    'cluster/membership/redis/publish.lua',
    [
      {
        id: 'view-beside-the-layout',
        rule: 'Readers see each view.',
        find: `redis.call('HDEL', KEYS[1], 'layout')`,
        replace: ``,
      },
    ],
    packed,
  ),
  ...mutantsOf(
    'cluster/membership/redis/release.lua',
    [
      {
        id: 'departure-not-recorded',
        rule: 'A released lease leaves a departure record.',
        find: `redis.call('HSET', KEYS[1], 'left:' .. ARGV[1], ARGV[2] .. ' ' .. string.format('%.0f', now))`,
        replace: ``,
      },
    ],
    redis,
  ),
];
