--[[
A process gives its own lease back and leaves its word that it is gone.

Keys:
  1  members: hash of `mark`, `mark-made`, `view`, `lease:<process>` and `left:<process>`
Arguments:
  1  process id
  2  how long its confirmations of others still bind it, in ms
  3  how long such a word is kept, in ms
  4  channel for hints
Result:
  1 if there was a lease, else 0

A new process reads from these words that it need not wait for the old ones. Older words are dropped here: a
view that names their processes cannot be the newest any more.
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
redis.call('PUBLISH', ARGV[4], ARGV[1])
return released
