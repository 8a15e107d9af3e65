--[[
One voice for taking a lease away; takes it away once voices and silence are enough.

Keys:
  1  members: hash of `mark`, `mark-made`, `view`, `lease:<process>` and `left:<process>`
  2  voices: hash of `<process> <renewals> <voice>` to the time at which it was raised
Arguments:
  1  mark under which the voice looked
  2  process id
  3  count of renewals that the voice saw
  4  process id of the voice
  5  voices needed
  6  how long a voice counts, in ms
  7  silence needed, in ms
  8  channel for hints
Result:
  { outcome, ms since the last renewal }; the outcome is one of
  removed, refuted (another mark, no such lease, or renewed since), more_voices, too_early
]]
local lease = redis.call('HGET', KEYS[1], 'lease:' .. ARGV[2])
if not lease or redis.call('HGET', KEYS[1], 'mark') ~= ARGV[1] then
  return { 'refuted', 0 }
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local renewals, renewedAt = string.match(lease, '^(%d+) (%d+)')
local silent = now - tonumber(renewedAt)
if renewals ~= ARGV[3] then
  return { 'refuted', silent }
end

local subject = ARGV[2] .. ' ' .. ARGV[3] .. ' '
redis.call('HSET', KEYS[2], subject .. ARGV[4], string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[2], ARGV[6])
local voices = 0
local raised = redis.call('HGETALL', KEYS[2])
for index = 1, #raised, 2 do
  local counts = string.sub(raised[index], 1, #subject) == subject
  if counts and now - tonumber(raised[index + 1]) <= tonumber(ARGV[6]) then
    voices = voices + 1
  end
end
if voices < tonumber(ARGV[5]) then
  return { 'more_voices', silent }
end
if silent < tonumber(ARGV[7]) then
  return { 'too_early', silent }
end

redis.call('HDEL', KEYS[1], 'lease:' .. ARGV[2])
redis.call('PUBLISH', ARGV[8], ARGV[2])
return { 'removed', silent }
