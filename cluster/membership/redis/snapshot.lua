--[[
Returns the whole state.

Keys:
  1  members: hash of `mark`, `mark-made`, `mark-server`, `view`, `lease:<process>` and `left:<process>`
Arguments:
  1  a new random mark, stored if this server has none
Result:
  { the store's time in ms; field, value, field, value, … of the whole hash; `mark-age`, the age of the mark
    in ms }
]]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local server = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
if not redis.call('HGET', KEYS[1], 'mark') or redis.call('HGET', KEYS[1], 'mark-server') ~= server then
  redis.call('HSET', KEYS[1], 'mark', ARGV[1], 'mark-made', string.format('%.0f', now), 'mark-server', server)
end
local result = redis.call('HGETALL', KEYS[1])
table.insert(result, 1, string.format('%.0f', now))
local made = redis.call('HGET', KEYS[1], 'mark-made')
table.insert(result, 'mark-age')
table.insert(result, made and string.format('%.0f', now - tonumber(made)) or '0')
return result
