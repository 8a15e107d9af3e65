--[[
Publishes a view on top of the one that it was made from, or restores a view that the store has lost.

Keys:
  1  members: as of `snapshot.lua`
Arguments:
  1  generation mark that the maker read
  2  the view: `<number> <hash> <members as JSON>`
  3  `<number> <hash>` of the view that it follows; `none` if the store must hold no view; empty to restore
     a view if the store holds none or one with a lower number
  4  channel for hints
  5  the store's time when this was sent, in ms: as the maker last saw it, plus the time since
  6  how long after that it may be executed, in ms
Result:
  { 1 if published, else 0; the store's time in ms }

A late publication is refused: what the view rests on may have changed since.
]]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local refused = { 0, string.format('%.0f', now) }
if now - tonumber(ARGV[5]) > tonumber(ARGV[6]) then
  return refused
end
local server = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
if redis.call('HGET', KEYS[1], 'mark') ~= ARGV[1] or redis.call('HGET', KEYS[1], 'mark-server') ~= server then
  return refused
end

local current = redis.call('HGET', KEYS[1], 'view')
local fits
if ARGV[3] == '' then
  fits = not current or tonumber(string.match(current, '^%d+')) < tonumber(string.match(ARGV[2], '^%d+'))
elseif ARGV[3] == 'none' then
  fits = not current
else
  fits = current and string.match(current, '^%d+ %x+') == ARGV[3]
end
if not fits then
  return refused
end

redis.call('HSET', KEYS[1], 'view', ARGV[2])
redis.call('HDEL', KEYS[1], 'layout')
redis.call('PUBLISH', ARGV[4], 'view')
return { 1, string.format('%.0f', now) }
