--[[
Releases the lease of the calling process and stores its departure record.

Keys:
  1  members: as of `snapshot.lua`
Arguments:
  1  process id
  2  how long its confirmations of others still bind it, in ms
  3  how long a departure record is kept, in ms
  4  channel for hints
Result:
  1 if there was a lease, else 0

New processes read these records and do not wait for the departed ones. Records older than argument 3 are
deleted here: no current view can still name their processes.
]]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local entries = redis.call('HGETALL', KEYS[1])
for index = 1, #entries, 2 do
  if string.sub(entries[index], 1, 5) == 'left:' then
    local leftAt = tonumber(string.match(entries[index + 1], ' (%d+)$'))
    if now - leftAt > tonumber(ARGV[3]) then
      redis.call('HDEL', KEYS[1], entries[index])
    end
  end
end

local released = redis.call('HDEL', KEYS[1], 'lease:' .. ARGV[1])
redis.call('HSET', KEYS[1], 'left:' .. ARGV[1], ARGV[2] .. ' ' .. string.format('%.0f', now))
redis.call('HDEL', KEYS[1], 'layout')
redis.call('PUBLISH', ARGV[4], ARGV[1])
return released
