--[[
Creates or renews the lease of one process and returns the state of the cluster.

Keys: as of `snapshot.lua`
Arguments:
  1  process id
  2  its own renewal count
  3  the rest of the lease: `<leaving 0 or 1> <promised ms> <held view> <member as JSON>`
  4  generation mark under which the process last renewed; empty if none
  5  a new random id: for the mark, if this server has none, and for the layout
  6  channel for hints
  7  the store's time when the renewal was sent, in ms: as its process last saw it, plus the time since
  8  how long after that it may be executed, in ms
  9  a mark to be replaced, because the cluster does not use it any more; empty if none
  10  the layout that the process knows; empty if none
  11  its own place in it; empty if none
Result:
  1 if renewed, 2 if it came late, else 0; then what `state` returns

A lease that is missing under the mark that the process knows was removed. Under another mark the store lost
it with all its data, and it is created again. None is created for a process with a departure record: its first renewal
was overtaken by its release, on another connection. A renewal that arrives after a later one changes nothing.
A late one changes nothing either: its process gave up long ago and may have promised something since. A replica
that was promoted gets a new mark, which tells it apart from the old master.
]]
local late = math.max(0, now - tonumber(ARGV[7]))
local mark = markOf(now, ARGV[5], function(current)
  return current == ARGV[9] and late <= tonumber(ARGV[8])
end)

local field = 'lease:' .. ARGV[1]
local before = redis.call('HGET', members, field)
local renewed = 1
if late > tonumber(ARGV[8]) then
  renewed = 2
elseif not before and (ARGV[4] == mark or redis.call('HEXISTS', members, 'left:' .. ARGV[1]) == 1) then
  renewed = 0
elseif not before or tonumber(ARGV[2]) >= tonumber(string.match(before, '^%d+')) then
  local lease = ARGV[2] .. ' ' .. numberText(now) .. ' ' .. numberText(late) .. ' ' .. ARGV[3]
  redis.call('HSET', members, field, lease)
  if before and string.match(before, '{.*}$') == string.match(lease, '{.*}$') then
    pack(ARGV[1], lease, ARGV[10], ARGV[11])
  else
    redis.call('HDEL', members, 'layout')
  end
  if not before or string.match(before, '^%d+ %d+ %d+ (%d)') ~= string.sub(ARGV[3], 1, 1) then
    redis.call('PUBLISH', ARGV[6], ARGV[1])
  end
end

local result = state(now, ARGV[10], ARGV[5])
table.insert(result, 1, renewed)
return result
