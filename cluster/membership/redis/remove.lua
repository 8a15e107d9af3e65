--[[
One vote to remove a lease. Removes it once there are enough votes and the silence is long enough.

Keys:
  1  members: as of `snapshot.lua`
  2  votes: hash of `<process> <renewals> <voter>` to the time of the vote
Arguments:
  1  generation mark that the voter read
  2  process id
  3  renewal count that the voter saw
  4  process id of the voter
  5  votes needed
  6  how long a vote counts, in ms
  7  required time since the last renewal, in ms
  8  channel for hints
  9  the store's time when the vote was sent, in ms: as the voter last saw it, plus the time since
  10  how long after that it may be executed, in ms
Result:
  { outcome, ms since the last renewal, the store's time in ms }; the outcome is one of
  removed, refuted (another mark, no such lease, or renewed since), more_votes, too_early, late
]]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function outcome(name, silent)
  return { name, silent, string.format('%.0f', now) }
end
if now - tonumber(ARGV[9]) > tonumber(ARGV[10]) then
  return outcome('late', 0)
end
local lease = redis.call('HGET', KEYS[1], 'lease:' .. ARGV[2])
local server = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local mark = redis.call('HGET', KEYS[1], 'mark-server') == server and redis.call('HGET', KEYS[1], 'mark')
if not lease or mark ~= ARGV[1] then
  return outcome('refuted', 0)
end

local renewals, renewedAt = string.match(lease, '^(%d+) (%d+)')
local silent = now - tonumber(renewedAt)
if renewals ~= ARGV[3] then
  return outcome('refuted', silent)
end

local subject = ARGV[2] .. ' ' .. ARGV[3] .. ' '
redis.call('HSET', KEYS[2], subject .. ARGV[4], string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[2], ARGV[6])
local votes = 0
local raised = redis.call('HGETALL', KEYS[2])
for index = 1, #raised, 2 do
  local counts = string.sub(raised[index], 1, #subject) == subject
  if counts and now - tonumber(raised[index + 1]) <= tonumber(ARGV[6]) then
    votes = votes + 1
  end
end
if votes < tonumber(ARGV[5]) then
  return outcome('more_votes', silent)
end
if silent < tonumber(ARGV[7]) then
  return outcome('too_early', silent)
end

redis.call('HDEL', KEYS[1], 'lease:' .. ARGV[2], 'layout')
redis.call('PUBLISH', ARGV[8], ARGV[2])
return outcome('removed', silent)
