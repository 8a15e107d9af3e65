--[[
Sent before the scripts that answer with the state of the cluster, which are called with its three keys.

Of a lease only numbers change with each renewal. They are also kept in one string, at the place of the process, so
that a reader that knows all the rest copies one value: n processes that read n leases twice a second cost n² of what
one lease costs. `layout` names the order of the places. Each script that changes anything else deletes it, and
the next reader gets everything and makes a new one.

Scripts of version 0.1 know no layout. A lease that they write makes no layout possible, and none is made until a minute
after the last one was seen: by then its process has stopped, although it may not have known that its lease was removed.
Until that lease is seen, the number of fields in the hash tells of it.
]]
local members, packed, places = KEYS[1], KEYS[2], KEYS[3]
local width = 24
local unpackedMs = 60000

local function numberText(number)
  return string.format('%.0f', number)
end

-- The numbers of a lease as `width` hexadecimal digits; nil if an older version wrote it, or a number is too large.
local function packedNumbers(lease)
  local renewals, late, leaving, promised, holds, member =
    string.match(lease, '^(%d+) %d+ (%d+) ([01]) (%d+) (%d+) ({.*})$')
  if not member or not string.find(member, '"packs":1', 1, true) then
    return nil
  end
  local numbers = string.format('%07x%05x%x%05x%06x', renewals, late, leaving, promised, holds)
  return #numbers == width and numbers or nil
end

-- Makes the string and its layout from the whole hash; returns the layout, or nil if none is possible.
local function makeLayout(entries, now, id)
  local all = {}
  redis.call('DEL', places)
  for index = 1, #entries, 2 do
    if string.sub(entries[index], 1, 6) == 'lease:' then
      local numbers = packedNumbers(entries[index + 1])
      if not numbers then
        redis.call('HSET', members, 'unpacked-seen', numberText(now))
        return nil
      end
      redis.call('HSET', places, string.sub(entries[index], 7), #all)
      all[#all + 1] = numbers
    end
  end
  local seen = redis.call('HGET', members, 'unpacked-seen')
  if seen and now - tonumber(seen) < unpackedMs then
    return nil
  end
  redis.call('SET', packed, table.concat(all))
  redis.call('HSET', members, 'layout', id, 'layout-fields', '0')
  redis.call('HSET', members, 'layout-fields', redis.call('HLEN', members))
  return id
end

-- Writes the numbers of one lease to its place.
local function pack(process, lease)
  if redis.call('HEXISTS', members, 'layout') == 0 then
    return
  end
  local place = redis.call('HGET', places, process)
  local numbers = packedNumbers(lease)
  local isWhole = redis.call('STRLEN', packed) == redis.call('HLEN', places) * width
  if place and numbers and isWhole then
    redis.call('SETRANGE', packed, tonumber(place) * width, numbers)
  else
    redis.call('HDEL', members, 'layout')
  end
end

-- { the store's time in ms, the mark and its age in ms, then either the string, for a reader that knows its layout, or
-- field, value, … of the whole hash and process, place, … of its layout }
local function state(now, known, id)
  local mark, made, layout, fields =
    unpack(redis.call('HMGET', members, 'mark', 'mark-made', 'layout', 'layout-fields'))
  local age = made and numberText(now - tonumber(made)) or '0'
  if layout and tonumber(fields) ~= redis.call('HLEN', members) then
    redis.call('HDEL', members, 'layout')
    layout = false
  end
  if layout and layout == known then
    local numbers = redis.call('GET', packed)
    if numbers and #numbers == redis.call('HLEN', places) * width then
      return { numberText(now), mark, age, numbers }
    end
    redis.call('HDEL', members, 'layout')
    layout = false
  end
  local entries = redis.call('HGETALL', members)
  if not layout and makeLayout(entries, now, id) then
    entries[#entries + 1] = 'layout'
    entries[#entries + 1] = id
    layout = id
  end
  return { numberText(now), mark, age, entries, layout and redis.call('HGETALL', places) or {} }
end

-- The mark of this server's content, made anew if it has none, if another server made it, or if it is to be replaced.
local function markOf(now, id, isReplaced)
  local server = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  local mark, maker = unpack(redis.call('HMGET', members, 'mark', 'mark-server'))
  if mark and maker == server and not isReplaced(mark) then
    return mark
  end
  redis.call('HSET', members, 'mark', id, 'mark-made', numberText(now), 'mark-server', server)
  redis.call('HDEL', members, 'layout')
  return id
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
