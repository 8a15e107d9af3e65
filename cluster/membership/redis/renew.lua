--[[
Creates or renews the lease of one process and returns the whole state.

Keys:
  1  members: hash of `mark`, `mark-made`, `mark-server`, `view`, `lease:<process>` and `left:<process>`
Arguments:
  1  process id
  2  its own renewal count
  3  the rest of the lease: `<leaving 0 or 1> <promised ms> <held view> <member as JSON>`
  4  generation mark under which the process last renewed; empty if none
  5  a new random mark, stored if this server has none
  6  channel for hints
  7  the store's time when the renewal was sent, in ms: as its process last saw it, plus the time since
  8  how long after that it may be executed, in ms
  9  a mark to be replaced, because the cluster does not use it any more; empty if none
Result:
  { 1 if renewed, 2 if it came late, else 0; the store's time in ms; field, value, field, value, … of the whole
    hash; `mark-age`, the age of the mark in ms }

A lease that is missing under the mark that the process knows was removed. Under another mark the store lost
it with all its data, and it is created again. A renewal that arrives after a later one changes nothing.
A late one changes nothing either: its process gave up long ago and may have promised something since. A replica
that was promoted gets a new mark, which tells it apart from the old master.
]]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local late = math.max(0, now - tonumber(ARGV[7]))
local server = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local mark = redis.call('HGET', KEYS[1], 'mark')
local replaced = mark == ARGV[9] and late <= tonumber(ARGV[8])
if not mark or replaced or redis.call('HGET', KEYS[1], 'mark-server') ~= server then
  mark = ARGV[5]
  redis.call('HSET', KEYS[1], 'mark', mark, 'mark-made', string.format('%.0f', now), 'mark-server', server)
end

local field = 'lease:' .. ARGV[1]
local before = redis.call('HGET', KEYS[1], field)
local renewed = 1
if late > tonumber(ARGV[8]) then
  renewed = 2
elseif not before and ARGV[4] == mark then
  renewed = 0
elseif not before or tonumber(ARGV[2]) >= tonumber(string.match(before, '^%d+')) then
  redis.call('HSET', KEYS[1], field, ARGV[2] .. ' ' .. string.format('%.0f', now) .. ' ' .. string.format('%.0f', late)
    .. ' ' .. ARGV[3])
  if not before or string.match(before, '^%d+ %d+ %d+ (%d)') ~= string.sub(ARGV[3], 1, 1) then
    redis.call('PUBLISH', ARGV[6], ARGV[1])
  end
end

local result = redis.call('HGETALL', KEYS[1])
local made = redis.call('HGET', KEYS[1], 'mark-made')
table.insert(result, 1, renewed)
table.insert(result, 2, string.format('%.0f', now))
table.insert(result, 'mark-age')
table.insert(result, made and string.format('%.0f', now - tonumber(made)) or '0')
return result
